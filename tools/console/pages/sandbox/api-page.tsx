// The two OpenAPI documents, to be browsed and tried: every operation, and one of them beside the
// list with what it takes and answers.
/** @jsxImportSource preact */
import { useLoad } from '../load.ts'
import { go, href, route } from '../route.ts'
import { type ApiDocument, bodySchema, type Endpoint, endpointsOf, followed } from '../schema.ts'
import { Badge } from '../ui/badge.tsx'
import { Detail, DetailHead } from '../ui/detail.tsx'
import { Empty, Failed } from '../ui/empty.tsx'
import { rules } from '../ui/form.tsx'
import { Rows } from '../ui/rows.tsx'
import { Search } from '../ui/search.tsx'
import { ApiTry } from './api-try.tsx'
import { api, control, documentAt } from './resources.ts'

const planes = [
  { base: api, name: 'v2', title: 'The service' },
  { base: control, name: 'sandbox', title: 'Control plane' },
] as const

type Plane = (typeof planes)[number]

export function ApiPage() {
  const { path, query } = route.value
  const [, name, operation] = path
  const plane = planes.find((one) => one.name === name) ?? planes[0]
  const { data: document, problem } = useLoad({
    key: plane.base,
    ask: () => documentAt(plane.base),
  })
  const endpoints = document ? endpointsOf(document) : []
  const chosen = endpoints.find(({ operationId }) => operationId === operation)
  const back = () => go(href(['api', plane.name], query))
  const search = query.get('search')?.toLowerCase() ?? ''
  return (
    <>
      <header>
        <h1>API</h1>
        <Planes at={plane} />
      </header>
      <div class={chosen ? 'split open' : 'split'}>
        <section aria-label="List">
          <search class="filters" aria-label="Filters">
            <Search />
          </search>
          {problem && <Failed problem={problem} />}
          <Rows
            items={endpoints.filter((one) => textOf(one).includes(search))}
            label="Operations"
            kind="operation"
            idOf={(one) => one.operationId}
            hrefOf={(one) => href(['api', plane.name, one.operationId], query)}
            row={(one) => <Row of={one} />}
            current={chosen?.operationId}
            onBack={chosen ? back : undefined}
            empty={document && <Empty title="Nothing fits">{null}</Empty>}
          />
        </section>
        {chosen && document && (
          <Operation
            key={chosen.operationId}
            endpoint={chosen}
            document={document}
            base={plane.base}
            onClose={back}
          />
        )}
      </div>
    </>
  )
}

const textOf = ({ method, path, summary = '', operationId }: Endpoint) =>
  `${method} ${path} ${summary} ${operationId}`.toLowerCase()

function Planes({ at }: { readonly at: Plane }) {
  return (
    <span class="actions">
      {planes.map(({ base, name, title }) => (
        <a
          key={base}
          class={base === at.base ? 'button main' : 'button'}
          href={href(['api', name])}
          aria-current={base === at.base ? 'true' : undefined}
        >
          {title}
        </a>
      ))}
      <a href={`${at.base}/openapi.json`}>openapi.json</a>
    </span>
  )
}

function Row({ of: { method, path, summary, deprecated } }: { readonly of: Endpoint }) {
  return (
    <>
      <span>
        <Badge tone={method === 'GET' ? 'calm' : 'info'}>{method}</Badge>
      </span>
      <span class="mono">{path}</span>
      <span class="muted more">
        {summary}
        {deprecated && ' (deprecated)'}
      </span>
    </>
  )
}

interface OperationProps {
  readonly endpoint: Endpoint
  readonly document: ApiDocument
  readonly base: string
  readonly onClose: () => void
}

function Operation({ endpoint, document, base, onClose }: OperationProps) {
  const { method, path, summary, description, deprecated, responses = {} } = endpoint
  return (
    <Detail label="Operation" problem={undefined} onClose={onClose}>
      <DetailHead title={summary ?? path} onClose={onClose}>
        <Badge tone={method === 'GET' ? 'calm' : 'info'}>{method}</Badge>
        <code class="break">
          {base}
          {path}
        </code>
        {deprecated && (
          <Badge tone="warn" sign="!">
            deprecated
          </Badge>
        )}
      </DetailHead>
      <div class="stack">
        {description && <p>{description}</p>}
        <Takes endpoint={endpoint} document={document} />
        <ApiTry endpoint={endpoint} document={document} base={base} />
        <section>
          <h3>Answers</h3>
          <dl class="facts">
            {Object.entries(responses).map(([status, { description: what }]) => (
              <>
                <dt>{status}</dt>
                <dd>{what}</dd>
              </>
            ))}
          </dl>
        </section>
      </div>
    </Detail>
  )
}

/** Its parameters and the fields of its body, with their rules. */
function Takes({ endpoint, document }: Pick<OperationProps, 'endpoint' | 'document'>) {
  const body = bodySchema(endpoint, document)
  const fields = [
    ...(endpoint.parameters ?? []).map(({ name, in: place, required, schema }) => ({
      ...{ name, place, required: required === true },
      schema: followed(schema, document),
    })),
    ...Object.entries(body?.properties ?? {}).map(([name, schema]) => ({
      ...{ name, place: 'body', required: body?.required?.includes(name) === true },
      schema: followed(schema, document),
    })),
  ]
  if (fields.length === 0) return null
  return (
    <section>
      <h3>Takes</h3>
      <div class="table">
        <table>
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">In</th>
              <th scope="col">Rules</th>
            </tr>
          </thead>
          <tbody>
            {fields.map(({ name, place, required, schema }) => (
              <tr key={`${place} ${name}`}>
                <td>
                  <code>{name}</code>
                </td>
                <td>{place}</td>
                <td>
                  {[required ? 'required' : '', rules(schema, document)].filter(Boolean).join(', ')}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
