// Switches for every fault of deliveries and of the API, counted or not.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { type ApiDocument, bodySchema, endpointsOf, followed } from '../schema.ts'
import { Badge } from '../ui/badge.tsx'
import { Empty, Failed } from '../ui/empty.tsx'
import { Page } from '../ui/shell.tsx'
import { attempt } from '../ui/toast.tsx'
import { control, documentAt } from './resources.ts'

interface Fault {
  readonly kind: string
  readonly times?: number
  readonly probability?: number
  readonly event?: string
  readonly struck?: number
}

const path = `${control}/faults`

export function FaultsPage() {
  const { data: document } = useLoad({ key: 'control', ask: () => documentAt(control) })
  const { data, problem, reload } = useLoad({
    key: 'faults',
    ask: (signal) => call<{ readonly faults: readonly Fault[] }>(path, { signal }),
    on: ['faults', 'delivery', 'state'],
  })
  const faults = data?.faults ?? []
  const set = (next: readonly Fault[]) =>
    attempt(async () => {
      const sent = next.map(({ struck: _, ...rest }) => rest)
      await call(path, { method: 'PUT', body: { faults: sent } })
      reload()
      return undefined
    })
  return (
    <Page title="Faults">
      {problem && <Failed problem={problem} />}
      {document && <NewFault kinds={kindsOf(document)} onAdd={(one) => set([...faults, one])} />}
      {data && faults.length === 0 ? (
        <Empty title="Nothing goes wrong">
          <p>
            Switch a fault on to see how your receiver copes: a duplicate, a wrong signature, a
            broken connection. A fault with a count ends by itself.
          </p>
        </Empty>
      ) : (
        <div class="card table">
          <table>
            <thead>
              <tr>
                <th scope="col">Fault</th>
                <th scope="col">Strikes</th>
                <th scope="col">So far</th>
                <th scope="col">
                  <span class="hidden">Switch off</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {faults.map((one, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the order is their identity
                <tr key={at}>
                  <td>
                    <Badge tone="warn" sign="!">
                      {one.kind}
                    </Badge>{' '}
                    {one.event && <code>{one.event}</code>}
                  </td>
                  <td>{howOften(one)}</td>
                  <td>{one.struck ?? 0}</td>
                  <td>
                    <button
                      type="button"
                      onClick={() => set(faults.filter((_, other) => other !== at))}
                    >
                      Switch off
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Page>
  )
}

function howOften({ times, probability }: Fault): string {
  const count = times === undefined ? 'always' : times === 1 ? 'once' : `${times} times`
  return probability === undefined ? count : `${count}, with probability ${probability}`
}

/** Every kind that the control plane takes, from its own document. */
function kindsOf(document: ApiDocument): string[] {
  const found = endpointsOf(document).find(({ operationId }) => operationId === 'setFaults')
  const list = found && bodySchema(found, document)?.properties?.faults
  const item = followed(list, document).items
  const several = item as { readonly oneOf?: readonly object[]; readonly anyOf?: readonly object[] }
  return (several?.oneOf ?? several?.anyOf ?? []).flatMap((one) => {
    const { properties } = followed(one, document)
    return properties?.kind?.enum ?? []
  })
}

interface NewFaultProps {
  readonly kinds: readonly string[]
  readonly onAdd: (fault: Fault) => void
}

function NewFault({ kinds, onAdd }: NewFaultProps) {
  const [kind, setKind] = useState('duplicate')
  const [times, setTimes] = useState('1')
  const add = () => onAdd({ kind, ...(times && { times: Number(times) }) })
  return (
    <form
      class="card"
      aria-label="New fault"
      onSubmit={(event) => {
        event.preventDefault()
        add()
      }}
    >
      <div class="actions">
        <label>
          <span class="hidden">Fault</span>
          <select value={kind} onChange={({ currentTarget }) => setKind(currentTarget.value)}>
            {kinds.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        <label>
          <span class="hidden">How often</span>
          <select value={times} onChange={({ currentTarget }) => setTimes(currentTarget.value)}>
            <option value="1">once</option>
            <option value="3">3 times</option>
            <option value="10">10 times</option>
            <option value="">always</option>
          </select>
        </label>
        <button type="submit" class="main">
          Switch on
        </button>
      </div>
    </form>
  )
}
