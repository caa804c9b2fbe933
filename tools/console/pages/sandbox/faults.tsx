// Switches for every fault of deliveries and of the API, counted or not.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import type { FaultKind } from '../../../sandbox/schemas/faults.ts'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { Badge } from '../ui/badge.tsx'
import { Empty, Failed, Table } from '../ui/detail.tsx'
import { Page } from '../ui/shell.tsx'
import { attempt } from '../ui/toast.tsx'
import { control } from './resources.ts'

interface FaultRow {
  readonly kind: string
  readonly times?: number
  readonly probability?: number
  readonly event?: string
  readonly struck?: number
}

const path = `${control}/faults`

export function FaultsPage() {
  const { data, problem, reload } = useLoad({
    key: 'faults',
    ask: (signal) => call<{ readonly faults: readonly FaultRow[] }>(path, { signal }),
    on: ['faults', 'delivery', 'state'],
  })
  const faults = data?.faults ?? []
  const set = (next: readonly FaultRow[]) =>
    attempt(async () => {
      const sent = next.map(({ struck: _, ...rest }) => rest)
      await call(path, { method: 'PUT', body: { faults: sent } })
      reload()
      return undefined
    })
  return (
    <Page title="Faults">
      {problem && <Failed problem={problem} />}
      <NewFault onAdd={(one) => set([...faults, one])} />
      {data && faults.length === 0 ? (
        <Empty title="Nothing goes wrong">
          <p>
            Switch a fault on to see how your receiver copes: a duplicate, a wrong signature, a
            broken connection. A fault with a count ends by itself.
          </p>
        </Empty>
      ) : (
        <Table heads={['Fault', 'Strikes', 'So far', 'Action']}>
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
        </Table>
      )}
    </Page>
  )
}

function howOften({ times, probability }: FaultRow): string {
  const count = times === undefined ? 'always' : times === 1 ? 'once' : `${times} times`
  return probability === undefined ? count : `${count}, with probability ${probability}`
}

const kinds: Readonly<Record<FaultKind, true>> = {
  duplicate: true,
  reorder: true,
  delay: true,
  drop: true,
  oversized: true,
  'legacy-name': true,
  'unknown-event': true,
  'stale-replay': true,
  storm: true,
  overlap: true,
  tampered: true,
  unsigned: true,
  malformed: true,
  'wrong-secret': true,
  truncated: true,
  reserialized: true,
  'slow-drip': true,
  'connection-reset': true,
  'error-429': true,
  'error-500': true,
  timeout: true,
  'malformed-json': true,
  slow: true,
}

function NewFault({ onAdd }: { readonly onAdd: (fault: FaultRow) => void }) {
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
            {Object.keys(kinds).map((one) => (
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
