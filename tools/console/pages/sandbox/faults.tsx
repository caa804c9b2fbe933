// The faults of deliveries and of the API: what each does, and which are switched on.
import { useState } from 'preact/hooks'
import type { FaultKind } from '../../../sandbox/schemas/faults.ts'
import { at, call, useLoad } from '../server.ts'
import { type Column, TableCard } from '../ui/list.tsx'
import { Badge, Button, Failed, Page, Select } from '../ui/parts.tsx'
import { control } from './records.tsx'

interface SetFault {
  readonly kind: FaultKind
  readonly times?: number
  readonly probability?: number
  readonly event?: string
  readonly struck?: number
}

const sentences: Readonly<Record<FaultKind, string>> = {
  duplicate: 'The same delivery arrives twice, with the same event id.',
  reorder: 'A delivery arrives after the one that follows it.',
  delay: 'A delivery arrives a minute late.',
  drop: 'A delivery is never sent.',
  storm: 'A delivery arrives a hundred times at once.',
  'stale-replay': 'A delivery arrives again a day later, with its old signature.',
  overlap: 'An event arrives under its current and its legacy name.',
  thin: 'An event arrives as a hint: its decision is read by the API of the vendor.',
  'legacy-name': 'An event arrives under its legacy name only.',
  'unknown-event': 'An event arrives under a name that no document lists.',
  oversized: 'The body has 2 MiB, more than a receiver takes by default.',
  tampered: 'One byte of the body changes after it was signed.',
  unsigned: 'The signature header is missing.',
  malformed: 'The signature header is not a signature.',
  'wrong-secret': 'The signature is made with another secret.',
  truncated: 'The end of the body is missing.',
  reserialized: 'The JSON is parsed and written again after it was signed, as a proxy does.',
  'slow-drip': 'The body arrives byte by byte.',
  'connection-reset': 'The connection breaks in the middle of the body.',
  'error-429': 'The API responds 429 RATE_LIMITED.',
  'error-500': 'The API responds 500.',
  timeout: 'The API does not respond.',
  'malformed-json': 'The API responds with half of its JSON.',
  'stale-record': 'The API of the vendor responds with the record before its last change.',
  slow: 'The API responds a second late.',
}

const kinds = Object.keys(sentences) as FaultKind[]
const often = [
  ['1', 'once'],
  ['3', '3 times'],
  ['10', '10 times'],
  ['', 'always'],
] as const

const path = `${control}/faults`
const isSpent = ({ times, struck = 0 }: SetFault) => times !== undefined && struck >= times

function remaining({ struck = 0, times, ...fault }: SetFault): SetFault {
  return { ...fault, ...(times !== undefined && { times: times - struck }) }
}

export function FaultsPage() {
  const loading = at<{ readonly faults: readonly SetFault[] }>(path, [
    'faults',
    'delivery',
    'state',
  ])
  const { data, problem } = useLoad(loading)
  const [times, setTimes] = useState('1')
  const faults = data?.faults ?? []
  const set = (faults: readonly SetFault[]) => call(path, { method: 'PUT', body: { faults } })
  // Setting the faults starts their counts again, so each is sent with what is left of it.
  const left = faults.filter((one) => !isSpent(one))
  const off = (fault: SetFault) => set(left.filter((one) => one !== fault).map(remaining))
  const on = (kind: FaultKind) =>
    set([...left.map(remaining), { kind, ...(times && { times: Number(times) }) }])
  return (
    <Page title="Faults" count={data && `${left.length} on`}>
      <Failed problem={problem} />
      <TableCard
        label="Switched on"
        items={faults}
        columns={setColumns(off)}
        idOf={(one) => `${faults.indexOf(one)} ${one.kind}`}
        isDim={isSpent}
        none="Nothing goes wrong. Switch a fault on below to see how your receiver copes."
      />
      <p class="actions">
        Apply a fault
        <Select label="Apply a fault" value={times} choices={often} onChange={setTimes} />
      </p>
      <TableCard label="All faults" items={kinds} columns={kindColumns(on)} idOf={(kind) => kind} />
    </Page>
  )
}

const setColumns = (off: (fault: SetFault) => void): readonly Column<SetFault>[] => [
  {
    head: 'Fault',
    cell: (one) => <Badge tone={isSpent(one) ? 'calm' : 'warn'} words={one.kind} />,
  },
  { head: 'Does', kind: 'main', cell: ({ kind }) => sentences[kind] },
  { head: 'Of', cell: ({ event }) => event },
  { head: 'Applies', cell: howOften },
  { head: 'Applied', cell: (one) => `${one.struck ?? 0}${isSpent(one) ? ', spent' : ''}` },
  {
    head: 'Action',
    kind: 'end',
    cell: (one) => <Button work={() => off(one)} words={isSpent(one) ? 'Remove' : 'Switch off'} />,
  },
]

function howOften({ times, probability }: SetFault): string {
  const count = times === undefined ? 'always' : times === 1 ? 'once' : `${times} times`
  return probability === undefined ? count : `${count}, with probability ${probability}`
}

const kindColumns = (on: (kind: FaultKind) => void): readonly Column<FaultKind>[] => [
  { head: 'Fault', cell: (kind) => <code>{kind}</code> },
  { head: 'Does', kind: 'main', cell: (kind) => sentences[kind] },
  {
    head: 'Action',
    kind: 'end',
    cell: (kind) => <Button label={`Switch on ${kind}`} work={() => on(kind)} words="Switch on" />,
  },
]
