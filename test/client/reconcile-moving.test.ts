import { describe, expect, test } from 'vitest'
import { type ApiClient, reconcile, type Watermark } from '../../src/client/index.ts'
import type { Verification } from '../../src/protocol/resources.ts'
import { drop, input, open, told, work } from './reconciling.ts'
import { start } from './service.ts'

type Iterate = ApiClient['verifications']['iterate']

/** A client whose walks by update have small pages; something happens after each first one. */
function interrupted(api: ApiClient, limit: number, between: () => Promise<unknown>) {
  const walks: number[] = []
  const iterate: Iterate = (query, options) => {
    const walk = api.verifications.iterate({ ...query, limit }, options)
    async function* pages() {
      if (query?.sort !== 'updated_at') return yield* walk.pages()
      const own = walks.push(0) - 1
      for await (const page of walk.pages()) {
        walks[own] = (walks[own] ?? 0) + 1
        yield page
        if (walks[own] === 1) await between()
      }
    }
    return { ...walk, pages }
  }
  return { client: { ...api, verifications: { ...api.verifications, iterate } }, walks }
}

/** That many verifications without a webhook, a second apart; the newest first. */
async function lost(count: number) {
  const setup = await open()
  const { sandbox, api } = setup
  drop(sandbox)
  const ids: string[] = []
  for (let at = 0; at < count; at++) {
    ids.unshift((await api.verifications.create(input)).id)
    await sandbox.clock.advance({ seconds: 1 })
  }
  return { ...setup, ids, now: () => sandbox.clock.now() }
}

describe('records that change during a run', () => {
  test('a changed record is found by the same run, although it jumped to a page already read', async () => {
    const { sandbox, api, receiver, handled, ids, now } = await lost(12)
    const [moving = ''] = ids.slice(9)
    let moved = false
    const { client, walks } = interrupted(api, 4, async () => {
      if (moved) return
      moved = true
      await sandbox.clock.advance({ seconds: 1 })
      await sandbox.act(moving, ['start', 'submit', 'approve'])
    })
    const report = await reconcile({ client, receiver, since: start, now })
    await work(receiver)
    expect(report).toMatchObject({ complete: true, events: { fed: 14 } })
    expect(told(handled.filter(({ entity }) => entity?.id === moving))).toEqual(
      ['approved', 'created', 'submitted'].map((name) => `verification.${name} ${moving}`),
    )
    // The walk, and a page that proves that nothing moved since.
    expect(walks).toEqual([3, 1])
  })

  test('a later run examines the past of a changed record, back to the since of the first run', async () => {
    const { sandbox, api, receiver, ids, now } = await lost(3)
    const [, before, old = ''] = ids
    expect(before).toBeDefined()
    const passed = (at: Date, since: string) => {
      const mark = { at: at.toISOString(), since }
      return { verifications: mark, clients: mark, deletions: mark } satisfies Watermark
    }
    await sandbox.clock.advance({ days: 1 })
    const since = passed(now(), '2026-03-01T10:00:00Z')
    const later = passed(now(), '2026-03-01T10:00:01Z')
    await sandbox.clock.advance({ seconds: 60 })
    await sandbox.act(old, ['start', 'submit'])
    const dry = await reconcile({ client: api, receiver, since: later, now, dryRun: true })
    expect(dry.gap.byName).toEqual({ 'verification.submitted': 1 })
    const report = await reconcile({ client: api, receiver, since, now })
    expect(report.gap.byName).toEqual({ 'verification.created': 1, 'verification.submitted': 1 })
    // Events that the inbox may have forgotten are not fed again.
    await sandbox.clock.advance({ days: 8 })
    await sandbox.act(old, 'approve')
    const { watermark } = report
    const last = await reconcile({ client: api, receiver, since: watermark as Watermark, now })
    expect(last.events.derived).toBeLessThanOrEqual(4)
    expect(last.gap.byName).not.toHaveProperty('verification.created')
  })
})

test('records that were all updated at one time are read twice, not more', async () => {
  const { api, receiver } = await open()
  const items = Array.from({ length: 30 }, (_, at) => ({
    id: `v${at}`,
    status: 'initiated',
    createdAt: start,
    updatedAt: start,
  })) as unknown as Verification[]
  let pages = 0
  const iterate = () => ({
    async *pages() {
      for (let at = 0; at < items.length; at += 10) {
        pages += 1
        yield { data: items.slice(at, at + 10) }
      }
    },
  })
  const client = { ...api, verifications: { iterate } } as never
  const report = await reconcile({ client, receiver, since: start })
  expect(report).toMatchObject({ complete: true, events: { derived: 30 } })
  expect(pages).toBe(6)
})
