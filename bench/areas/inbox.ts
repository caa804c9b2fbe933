// Measures the package's part of an acknowledgement beyond the commit, and the figures of the inbox
// under load, which inbox.ts measures over HTTP.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReceiver, type ReceiverOptions } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { type Contender, compare, quick, thorough } from '../compare.ts'
import { digest, eventName, headersOf, secret } from '../deliveries.ts'
import { sameRows } from '../same-rows.ts'
import type { Area, Section } from '../section.ts'

/** So many deliveries arrive at a time, as under load: they share a commit. */
const together = 64

function deliveries() {
  let next = 0
  const padding = 'x'.repeat(1_850)
  return (count = together) =>
    Array.from({ length: count }, () => {
      const id = `evt_${next++}`
      const data = { id: `ver_${next % 997}`, status: 'approved', subjectName: padding }
      const body = Buffer.from(JSON.stringify({ id, event: eventName, data }))
      return { id, body, headers: headersOf(body, digest(body)) }
    })
}

function receiving(options: Partial<ReceiverOptions>, count = together): () => Promise<boolean> {
  const receiver = createReceiver({ secret, observe() {}, ...options })
  receiver.on('*', () => {})
  const take = deliveries()
  return async () => {
    const outcomes = await Promise.all(take(count).map((delivery) => receiver.receive(delivery)))
    return outcomes.every(({ kind }) => kind === 'accepted')
  }
}

async function acknowledged(isQuick: boolean): Promise<Section> {
  const folder = mkdtempSync(join(process.env.BENCH_DIR ?? tmpdir(), 'idv-bench-'))
  try {
    const take = deliveries()
    const model = join(folder, 'model.db')
    const kept = createInbox({ store: sqliteStore(model) })
    await receiving({ inbox: kept }, 1)()
    await kept.close()
    const commit = sameRows(model, join(folder, 'by-hand.db'))
    const commitByHand = () => {
      commit(take().map(({ body }) => body))
      return true
    }
    const entryId = '1'
    const keepsNothing = { keep: async () => ({ kind: 'accepted', entryId }) as const }
    const contenders: Contender[] = [
      { name: 'making and signing the deliveries', run: () => take().length > 0 },
      { name: 'the same rows, by hand', run: commitByHand },
      {
        name: 'receive(), an inbox that keeps nothing',
        run: receiving({ inbox: keepsNothing as never }),
      },
      {
        name: 'receive(), memoryStore()',
        run: receiving({ inbox: createInbox({ store: memoryStore() }) }),
      },
      {
        name: 'receive(), sqliteStore()',
        run: receiving({ inbox: createInbox({ store: sqliteStore(join(folder, 'inbox.db')) }) }),
      },
    ].map((one) => ({ ...one, group: 'ack' }))
    const found = await compare(contenders, isQuick ? quick : { ...thorough, rounds: 41 })
    const making = found[0]?.cpu ?? 0
    const byHand = found[1]?.cpu ?? 0
    return {
      id: 'inbox-ack',
      title: `An acknowledgement, of ${together} that arrive together`,
      note: 'CPU of all threads for one delivery, without what making it costs.',
      columns: [
        { key: 'cpu', label: 'CPU, µs each', unit: 'us' },
        { key: 'beyond', label: 'beyond the rows by hand', unit: 'us' },
        { key: 'wall', label: 'wall, µs each', unit: 'us' },
      ],
      chart: 'cpu',
      targets: [{ row: 'receive(), sqliteStore()', column: 'beyond', atMost: 50 }],
      rows: found.slice(1).map(({ name, cpu, wall }) => ({
        name,
        ours: name.startsWith('receive'),
        values: {
          cpu: (cpu - making) / together,
          beyond: (cpu - byHand) / together,
          wall: wall / together,
        },
      })),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The figures under load, as inbox.ts prints them. */
async function underLoad(): Promise<Section> {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../inbox.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  child.stdout.on('data', (chunk) => {
    text += chunk
  })
  const [code] = await once(child, 'close')
  const missed = text.match(/^MISS/gm)?.length ?? 0
  // It exits with 1 for a figure that was missed, and for nothing else that it printed.
  if (code !== 0 && missed === 0) throw new Error(`bench/inbox.ts ended with ${code}`)
  return {
    id: 'inbox-load',
    title: 'The inbox under load',
    text,
    columns: [{ key: 'missed', label: 'missed', unit: 'count' }],
    rows: [{ name: 'figures', values: { missed } }],
    targets: [{ row: 'figures', column: 'missed', atMost: 0 }],
  }
}

export const area: Area = {
  name: 'inbox',
  published: [
    { name: 'inbox', sections: /^inbox-ack$/, rows: /rows|sqlite/, columns: ['cpu', 'beyond'] },
  ],
  runs: 1,
  async measure({ quick: isQuick, only }) {
    const ack = await acknowledged(isQuick)
    return isQuick || only ? [ack] : [ack, await underLoad()]
  },
}
