// The two OpenAPI documents, to be read and tried: every operation with its parameters, its body,
// and the answer that this sandbox really gives.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { send } from '../call.ts'
import { toCurl } from '../export.ts'
import { useLoad } from '../load.ts'
import { go, href, route } from '../route.ts'
import {
  type ApiDocument,
  bodySchema,
  type Endpoint,
  endpointsOf,
  exampleOf,
  followed,
} from '../schema.ts'
import { HttpStatus } from '../ui/badge.tsx'
import { Headers } from '../ui/bytes.tsx'
import { Copy } from '../ui/copy.tsx'
import { ScrollText } from '../ui/scroll-text.tsx'
import { Page } from '../ui/shell.tsx'
import { attempt } from '../ui/toast.tsx'
import { api, control, documentAt } from './resources.ts'

const planes = [
  { base: api, title: 'The service' },
  { base: control, title: 'Control plane' },
] as const

export function ApiPage() {
  const [, base = 'v2', operation] = route.value.path
  const plane = base === 'sandbox' ? planes[1] : planes[0]
  const { data: document } = useLoad({
    key: plane.base,
    ask: () => documentAt(plane.base),
  })
  const endpoints = document ? endpointsOf(document) : []
  const chosen = endpoints.find(({ operationId }) => operationId === operation) ?? endpoints[0]
  return (
    <Page title="API" actions={<Plane at={plane.base} />}>
      {document && chosen && (
        <>
          <label class="field">
            <span class="label">Operation</span>
            <select
              value={chosen.operationId}
              onChange={({ currentTarget: { value } }) => go(href(['api', base, value]))}
            >
              {endpoints.map((one) => (
                <option key={one.operationId} value={one.operationId}>
                  {one.method} {one.path}
                  {one.deprecated ? ' (deprecated)' : ''}
                </option>
              ))}
            </select>
          </label>
          <Try key={chosen.operationId} {...{ document }} endpoint={chosen} base={plane.base} />
        </>
      )}
    </Page>
  )
}

function Plane({ at }: { readonly at: string }) {
  return (
    <span class="actions">
      {planes.map(({ base, title }) => (
        <a
          key={base}
          class={base === at ? 'button main' : 'button'}
          href={href(['api', base === api ? 'v2' : 'sandbox'])}
          aria-current={base === at ? 'true' : undefined}
        >
          {title}
        </a>
      ))}
      <a href={`${at}/openapi.json`}>openapi.json</a>
    </span>
  )
}

interface TryProps {
  readonly endpoint: Endpoint
  readonly document: ApiDocument
  readonly base: string
}

interface Answer {
  readonly status: number
  readonly headers: readonly (readonly [string, string])[]
  readonly text: string
}

function Try({ endpoint, document, base }: TryProps) {
  const schema = bodySchema(endpoint, document)
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const [key, setKey] = useState('key_acme')
  const [body, setBody] = useState(
    schema ? JSON.stringify(exampleOf(schema, document), null, 2) : '',
  )
  const [answer, setAnswer] = useState<Answer | undefined>(undefined)
  const request = () => requestOf(endpoint, { base, values, key: base === api ? key : '', body })
  const run = () =>
    attempt(async () => {
      const { method, path, headers } = request()
      const response = await send(path, { method, headers, ...(schema && { body }) })
      setAnswer({
        status: response.status,
        headers: [...response.headers],
        text: laidOut(await response.text()),
      })
      return undefined
    })
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault()
        run()
      }}
    >
      <header>
        <h2 class="mono break">
          {endpoint.method} {base}
          {endpoint.path}
        </h2>
      </header>
      {endpoint.summary && <p>{endpoint.summary}</p>}
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
              value={body}
              onInput={({ currentTarget }) => setBody(currentTarget.value)}
            />
            <small>{Object.keys(schema.properties ?? {}).join(', ')}</small>
          </div>
        )}
      </div>
      <div class="actions">
        <button type="submit" class="main">
          Send
        </button>
        <Copy text={() => curlOf(request(), schema ? body : '')}>Copy as curl</Copy>
      </div>
      {answer && (
        <section class="stack" aria-label="Answer">
          <HttpStatus status={answer.status} />
          <Headers pairs={answer.headers} />
          <ScrollText label="Body of the answer" testid="answer">
            {answer.text}
          </ScrollText>
        </section>
      )}
    </form>
  )
}

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
  readonly body: string
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
  const bytes = new TextEncoder().encode(body)
  const base64 = btoa(String.fromCharCode(...bytes))
  return toCurl({ method, url: new URL(path, location.href).href, headers: pairs, body: base64 })
}

function laidOut(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
