// The statements that find entries read as few entries as possible.
import { expect, onTestFinished, test } from 'vitest'
import { findSql } from '../../../src/inbox/stores/entry-sql.ts'
import { dialect } from '../../../src/inbox/stores/postgres/admin.ts'
import { newEntry } from '../../../tools/conformance/store-cases.ts'
import { poolOf, schemaOn } from './servers.ts'

interface Plan {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

const rowsOf = (plan: Plan): number => {
  const own = (plan['Actual Rows'] + (plan['Rows Removed by Filter'] ?? 0)) * plan['Actual Loops']
  return own + (plan.Plans ?? []).reduce((sum, one) => sum + rowsOf(one), 0)
}

test('the dead among many are found without reading the others', async () => {
  const { schema, open, query } = schemaOn()
  const store = open({ listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  await query(`insert into idv.entries (id, state, lane, source, stored_at, bytes)
    select 'e' || i, case when i % 5000 = 7 then 'dead' else 'done' end, 'lane' || i, 'webhook', i, 1
    from generate_series(1, 20000) i`)
  await query('analyze idv.entries')
  const { sql, values } = findSql({ states: ['dead'], limit: 50 }, dialect)
  const text = `explain (analyze, format json) ${sql.replaceAll(/\bidv\./g, `"${schema}".`)}`
  const { rows } = await poolOf().query(text, [...values])
  expect(rowsOf(rows[0]['QUERY PLAN'][0].Plan)).toBeLessThan(100)
  const found = await store.find({ states: ['dead', 'skipped'], limit: 50 })
  expect(found.map(({ id }) => id)).toEqual(['e15007', 'e10007', 'e5007', 'e7'])
  await store.insert(newEntry())
  expect(await store.find({ states: ['stored'], limit: 50 })).toHaveLength(1)
  expect(await store.find({ states: [], limit: 50 })).toEqual([])
})

test('an entry that names its client rewrites a bounded number of those before it', async () => {
  const { open, query } = schemaOn()
  const store = open({ listen: false })
  await store.open(() => {})
  onTestFinished(() => store.close())
  for (const first of ['together', 'alone']) {
    await Promise.all(Array.from({ length: 600 }, () => store.insert(newEntry({ lane: first }))))
    const key = first === 'alone' ? 'known' : undefined
    if (key) await store.insert(newEntry({ lane: 'other', key }))
    const naming = newEntry({ lane: first, related: 'client' })
    // The second of two equal keys in one group is kept by itself.
    const others = key ? [newEntry({ lane: first, key, digest: 'another' })] : []
    await Promise.all([...others, naming].map((entry) => store.insert(entry)))
    const sql = 'select count(*)::int as n from idv.entries where lane = $1 and related is not null'
    const [{ n } = { n: 0 }] = await query(sql, [first])
    expect(n, first).toBeGreaterThan(500)
    expect(n, first).toBeLessThan(510)
  }
})
