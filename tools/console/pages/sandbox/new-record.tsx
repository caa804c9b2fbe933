// Creates a verification or a client over the API itself: the form is made from its schema, and what
// it refuses stands at the field.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { call, type FieldProblem, Problem } from '../call.ts'
import { useLoad } from '../load.ts'
import { go, href } from '../route.ts'
import { type ApiDocument, bodySchema, endpointsOf } from '../schema.ts'
import { Failed } from '../ui/empty.tsx'
import { SchemaFields, toBody, type Values } from '../ui/form.tsx'
import { Page } from '../ui/shell.tsx'
import { Organizations, organization } from './organization.tsx'
import { api, documentAt, keyOf } from './resources.ts'

interface NewProps {
  readonly what: string
  readonly operation: string
  readonly path: '/verifications' | '/clients'
}

const firstValues: Readonly<Record<string, Values>> = {
  verification: { type: 'idv', requirements: ['document'] },
}

export function NewRecord({ what, operation, path }: NewProps) {
  const { data: document } = useLoad({ key: 'api', ask: () => documentAt(api) })
  return (
    <Page title={`New ${what}`} actions={<Organizations />}>
      {document && <Form {...{ what, operation, path, document }} />}
    </Page>
  )
}

function Form({ what, operation, path, document }: NewProps & { document: ApiDocument }) {
  const [values, setValues] = useState<Values>(firstValues[what] ?? {})
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const [errors, setErrors] = useState<readonly FieldProblem[]>([])
  const [sending, setSending] = useState(false)
  const found = endpointsOf(document).find(({ operationId }) => operationId === operation)
  const schema = found && bodySchema(found, document)
  if (!schema) return null
  const create = async () => {
    const { body, errors: own } = toBody(schema, document, values)
    setErrors(own)
    setProblem(undefined)
    if (own.length > 0) return
    setSending(true)
    try {
      const headers = { 'x-api-key': keyOf(organization.peek()) }
      const { id } = await call<{ readonly id: string }>(`${api}${path}`, {
        method: 'POST',
        body,
        headers,
      })
      const org = organization.peek()
      go(href([path.slice(1), id], { org: org === 'org_acme' ? undefined : org }))
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setErrors(error.errors)
      if (error.errors.length === 0) setProblem(error)
    } finally {
      setSending(false)
    }
  }
  return (
    <form
      class="stack card"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        create()
      }}
    >
      {problem && <Failed problem={problem} />}
      {errors.length > 0 && (
        <p class="notice" data-tone="bad" role="alert">
          {errors.length === 1 ? 'One field is' : `${errors.length} fields are`} not valid for the
          API.
        </p>
      )}
      <SchemaFields {...{ schema, document, values, errors }} onChange={setValues} />
      <div class="actions">
        <button type="submit" class="main" disabled={sending}>
          Create {what}
        </button>
        <a class="button" href={href([path.slice(1)])}>
          Cancel
        </a>
        {what === 'verification' && (
          <span class="hint">
            A subject named “Auto Approve”, “Auto Reject” or “Auto Review” is decided automatically.
          </span>
        )}
      </div>
    </form>
  )
}
