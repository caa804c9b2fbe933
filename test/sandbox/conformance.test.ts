import { afterEach, describe, expect, test } from 'vitest'
import {
  accessRows,
  clientRows,
  eventRows,
  type Row,
  resourceRows,
  verificationRows,
  versionRows,
} from './conformance-rows.ts'
import { caller, openSandbox } from './open-sandbox.ts'

const rows: readonly Row[] = [
  ...resourceRows,
  ...eventRows,
  ...verificationRows,
  ...clientRows,
  ...accessRows,
  ...versionRows,
]

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function ground(over: string) {
  const sandbox = await openSandbox({
    subscriptions: [{ url: 'http://127.0.0.1:9/' }],
    fetch: async () => new Response(),
  })
  closing.push(() => sandbox.close())
  if (over === 'fetch') return { sandbox, call: caller(sandbox.url, sandbox.fetch) }
  const { url } = await sandbox.listen()
  return { sandbox, call: caller(url, fetch) }
}

describe.each(['fetch', 'HTTP'])('over %s the service document holds: section', (over) => {
  test.each(rows)('%s: %s', async (_section, _statement, show) => {
    await show(await ground(over))
  })
})

test('every section from 2 to 9 has rows', () => {
  const sections = new Set(rows.flatMap(([section]) => section.split(', ')))
  const documented = ['2.1', '2.2', '2.3', '2.4', '2.5', '3', '4.1', '4.2', '4.3', '4.4', '4.5']
  for (const section of [...documented, '4.6', '5', '6', '7', '8', '9']) {
    expect(sections, section).toContain(section)
  }
})
