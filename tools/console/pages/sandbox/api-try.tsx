// One operation tried against this sandbox: filled in, sent, and the answer that it really gives.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { toBase64 } from '../base64.ts'
import { send } from '../call.ts'
import { toCurl } from '../export.ts'
import { type ApiDocument, bodySchema, type Endpoint, exampleOf, followed } from '../schema.ts'
import { HttpStatus } from '../ui/badge.tsx'
import { Body, Headers } from '../ui/bytes.tsx'
import { Copy } from '../ui/copy.tsx'
import { RevealButton } from '../ui/masked.tsx'
import { attempt } from '../ui/toast.tsx'
import { api } from './resources.ts'

interface TryProps {
  readonly endpoint: Endpoint
  readonly document: ApiDocument
  readonly base: string
}

interface Answer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  /** Base64, as every body. */
  readonly body: string
}

export function ApiTry({ endpoint, document, base }: TryProps) {
  const schema = bodySchema(endpoint, document)
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [key, setKey] = useState('key_acme')
  const [body, setBody] = useState(
    schema ? JSON.stringify(exampleOf(schema, document), null, 2) : '',
  )
  const [answer, setAnswer] = useState<Answer | undefined>(undefined)
  const request = () => requestOf(endpoint, { base, values, key: base === api ? key : '' })
  const run = () =>
    attempt(async () => {
      const { method, path, headers } = request()
      const response = await send(path, { method, headers, ...(schema && { body }) })
      const bytes = new Uint8Array(await response.arrayBuffer())
      setAnswer({
        status: response.status,
        headers: [...response.headers],
        body: toBase64(bytes),
      })
      return undefined
    })
  return (
    <form
      class="card"
      aria-label="Try it"
      onSubmit={(event) => {
        event.preventDefault()
        run()
      }}
    >
      <h3>Try it</h3>
      <div class="form">
        {base === api && <Text name="X-Api-Key" value={key} onChange={setKey} />}
        {(endpoint.parameters ?? [])
          .filter((one) => one.in !== 'header')
          .map(({ name, required, schema: own }) => (
            <Text
              key={name}
              name={required ? `${name} · required` : name}
              hint={followed(own, document).enum?.join(', ') ?? ''}
              value={values[name] ?? ''}
              onChange={(value) => setValues({ ...values, [name]: value })}
            />
          ))}
        {schema && (
          <div class="field wide">
            <label for="try-body">Body</label>
            <textarea
              id="try-body"
              spellcheck={false}
              rows={Math.min(20, body.split('\n').length + 1)}
              value={body}
              onInput={({ currentTarget }) => setBody(currentTarget.value)}
            />
          </div>
        )}
      </div>
      <div class="actions">
        <button type="submit" class="main">
          Send
        </button>
        <Copy text={() => curlOf(request(), schema ? body : '')}>Copy as curl</Copy>
        {answer && <RevealButton of={revealed}>Reveal answers</RevealButton>}
      </div>
      {answer && (
        <section class="stack" aria-label="Answer" aria-live="polite">
          <HttpStatus status={answer.status} />
          <Headers pairs={answer.headers} />
          <Body base64={answer.body} of={revealed} label="Body of the answer" />
        </section>
      )}
    </form>
  )
}

/** Personal data in responses is revealed like everything else. */
const revealed = 'answers of the API'

interface TextProps {
  readonly name: string
  readonly hint?: string
  readonly value: string
  readonly onChange: (value: string) => void
}

function Text({ name, hint, value, onChange }: TextProps) {
  const id = `try-${name}`
  return (
    <div class="field">
      <label for={id}>{name}</label>
      <input
        id={id}
        value={value}
        autocomplete="off"
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
      {hint && <small>{hint}</small>}
    </div>
  )
}

interface Given {
  readonly base: string
  readonly values: Readonly<Record<string, string>>
  readonly key: string
}

function requestOf({ method, path, parameters = [] }: Endpoint, { base, values, key }: Given) {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''))
  const search = new URLSearchParams(
    parameters.flatMap(({ name, in: place }) =>
      place === 'query' && values[name] ? [[name, values[name]]] : [],
    ),
  ).toString()
  const headers: Readonly<Record<string, string>> = key ? { 'x-api-key': key } : {}
  return { method, path: `${base}${filled}${search && `?${search}`}`, headers }
}

function curlOf({ method, path, headers }: ReturnType<typeof requestOf>, body: string): string {
  const pairs = Object.entries({ ...headers, ...(body && { 'content-type': 'application/json' }) })
  const url = new URL(path, location.href).href
  return toCurl({ method, url, headers: pairs, body: toBase64(new TextEncoder().encode(body)) })
}
