import { expect, test } from 'vitest'
import { folder, run, runJson } from './run.ts'
import { old, type Row, service } from './subscription-service.ts'

/** A list of two subscriptions a page. */
const pages = (rows: readonly Row[], page: number) => ({
  data: rows.slice(2 * page - 2, 2 * page),
  pagination: { page, limit: 2, hasNext: rows.length > 2 * page },
})
/** A list that never shows what was created. */
const lagging = (rows: readonly Row[]) => ({ data: rows.filter(({ id }) => !id.startsWith('new')) })

const rows = () => [old('sub_1', ['request.approved']), old('sub_2', ['client.created'])]

test.each([
  ['comes in pages', pages],
  ['does not show the new one', lagging],
])('a list that %s gives one replacement, however often --apply runs', async (_, list) => {
  const { url, state, deliver } = await service(rows(), { list })
  const before = state()
  const cwd = folder()
  const args = ['migrate', 'subscriptions', url]
  for (let ran = 0; ran < 3; ran += 1) await run([...args, '--apply'], { cwd })
  expect(state().map(([id]) => id)).toEqual(['sub_1', 'sub_2', 'new_1'])
  deliver('new_1')
  const { records } = await runJson([...args, '--apply'], { cwd })
  expect(records[0]).toMatchObject({ id: 'sub_1', did: 'dropped', replacement: 'new_1' })
  expect(await run([...args, '--rollback'], { cwd })).toMatchObject({ code: 0 })
  expect(state().map(([, events]) => events)).toEqual([before[1]?.[1], before[0]?.[1]])
})

test('a rollback does not restore an old subscription that stands on a later page', async () => {
  const others = [old('sub_8', ['client.created']), old('sub_9', ['client.created'])]
  const { url, state } = await service([...others, ...rows()], { list: pages })
  const before = state()
  const cwd = folder()
  const args = ['migrate', 'subscriptions', url]
  await run([...args, '--apply'], { cwd })
  expect(state().map(([id]) => id)).toContain('new_1')
  await run([...args, '--rollback'], { cwd })
  expect(state()).toEqual(before)
})

test.each([
  ['hides', (all: readonly Row[]) => ({ data: all.filter(({ active }) => active) })],
  ['lists', (all: readonly Row[]) => ({ data: all })],
])('a rollback restores what the service keeps as inactive, and %s', async (_, list) => {
  const { url, rows: kept, deliver } = await service(rows(), { list, soft: true })
  const cwd = folder()
  const args = ['migrate', 'subscriptions', url]
  await run([...args, '--apply'], { cwd })
  deliver('new_1')
  await run([...args, '--apply'], { cwd })
  await run([...args, '--rollback'], { cwd })
  const active = kept.filter((one) => one.active).map(({ events }) => events.join())
  expect(active).toEqual(['client.created', 'request.approved'])
})

test('an old subscription stays while its replacement is inactive', async () => {
  const { url, rows: kept, deliver } = await service(rows(), { soft: true })
  const cwd = folder()
  const args = ['migrate', 'subscriptions', url]
  await run([...args, '--apply'], { cwd })
  deliver('new_1')
  const body = JSON.stringify({ active: false })
  const headers = { 'content-type': 'application/json' }
  await fetch(`${url}/_sandbox/subscriptions/new_1`, { method: 'PATCH', headers, body })
  const { code, stderr } = await run([...args, '--apply'], { cwd })
  expect([code, stderr]).toEqual([
    1,
    expect.stringContaining('new_1, the replacement of sub_1, is inactive'),
  ])
  expect(kept.find(({ id }) => id === 'sub_1')).toMatchObject({ active: true })
})

test('a list that never ends, and an export of one page, are errors', async () => {
  const list = (data: readonly Row[]) => ({ data, pagination: { hasNext: true } })
  const { url } = await service(rows(), { list })
  const endless = await run(['migrate', 'subscriptions', url])
  expect(endless).toMatchObject({ code: 1, stderr: expect.stringContaining('page 2') })
  const input = JSON.stringify(list(rows()))
  const first = await run(['migrate', 'subscriptions', '-'], { input })
  expect(first).toMatchObject({ code: 2, stderr: expect.stringContaining('one page of several') })
})
