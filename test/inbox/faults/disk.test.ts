import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, test } from 'vitest'
import { brokenPromises } from './history.ts'
import { Lab } from './lab.ts'
import { obedientDisk } from './preload.ts'

const ending: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ending.splice(0).toReversed()) await end()
})

function lab(): Lab {
  const made = new Lab()
  ending.push(() => made.close())
  return made
}

const sum = (counts: readonly number[]) => counts.reduce((all, one) => all + one, 0)

describe.runIf(process.platform === 'linux')('a disk', () => {
  test('that is full is 503, loses nothing, and serves again when there is room, without a restart', async () => {
    const at = lab()
    const folder = dirname(at.file)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1500k', 'tmpfs', folder])
    ending.push(() => execFileSync('umount', ['-l', folder]))
    const ballast = join(folder, 'ballast')
    writeFileSync(ballast, Buffer.alloc(400_000))
    await at.start()
    let next = 0
    const send = () => at.send({ id: `e${next++}`, entity: 'x'.repeat(3_000), tx: false })
    let status = await send()
    while (status === 202) status = await send()
    expect(status).toBe(503)
    for (let more = 0; more < 5; more++) expect(await send()).toBe(503)
    rmSync(ballast)
    let after = await send()
    for (let tries = 0; after !== 202 && tries < 100; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      after = await send()
    }
    expect(after).toBe(202)
    await at.quiet()
    expect(brokenPromises(at.history())).toEqual([])
    expect(at.stderr).not.toMatch(/Unhandled|uncaught/i)
  })

  test('that cannot sync is 503 from then on, for nobody knows what it has; a restart goes on', async () => {
    const at = lab()
    const fail = join(at.folder, 'fail')
    await at.start({
      preload: obedientDisk(),
      env: { DISK_DIR: dirname(at.file), DISK_FAIL: fail },
    })
    await at.deliver({ id: 'before', entity: 'x' })
    await at.quiet()
    writeFileSync(fail, '')
    const events = ['a', 'b'].map((id) => ({ id, entity: id }))
    for (const one of events) {
      expect(await at.send(one)).toBe(503)
      rmSync(fail, { force: true })
    }
    await at.kill()
    await at.start()
    for (const one of events) await at.deliver(one)
    await at.quiet()
    expect(brokenPromises(at.history())).toEqual([])
  })

  /** Cuts the power of a process under load; gives how many acknowledged events are gone. */
  async function powerCut(fault?: string): Promise<{ acknowledged: number; lost: number }> {
    const at = lab()
    const survived = join(at.folder, 'survived')
    mkdirSync(survived)
    await at.start({
      ...(fault && { fault }),
      preload: obedientDisk(),
      env: { DISK_DIR: dirname(at.file), DISK_SURVIVED: survived },
    })
    let stop = false
    let next = 0
    const senders = Array.from({ length: 8 }, async () => {
      while (!stop) await at.send({ id: `e${next++}`, entity: `v${next % 50}`, tx: next % 2 === 0 })
    })
    await new Promise((resolve) => setTimeout(resolve, 150 + Math.random() * 250))
    await at.kill()
    stop = true
    await Promise.all(senders)
    const file = join(survived, 'inbox.db')
    expect(existsSync(file)).toBe(true)
    const db = new DatabaseSync(file)
    expect(db.prepare('pragma integrity_check').get()).toEqual({ integrity_check: 'ok' })
    db.close()
    const rows = at.rows(file)
    const done = rows.filter(({ tx, state }) => tx && state === 'done').map(({ key }) => key)
    const effects = at.effects(file)
    expect(new Set(effects).size).toBe(effects.length)
    expect(done.filter((key) => !effects.includes(key))).toEqual([])
    const stored = new Set(rows.map(({ key }) => key))
    const acknowledged = at.sent.filter(({ status }) => status === 202)
    return {
      acknowledged: acknowledged.length,
      lost: acknowledged.filter(({ id }) => !stored.has(id)).length,
    }
  }

  test('whose power is cut has every acknowledged event, in twenty rounds', async () => {
    const acknowledged: number[] = []
    for (let round = 0; round < 20; round++) {
      const cut = await powerCut()
      expect(cut.lost).toBe(0)
      acknowledged.push(cut.acknowledged)
    }
    expect(sum(acknowledged)).toBeGreaterThan(500)
  }, 120_000)

  test('loses some when commits are not synced: this test would see it', async () => {
    let lost = 0
    for (let round = 0; round < 20 && lost === 0; round++) lost += (await powerCut('unsafe')).lost
    expect(lost).toBeGreaterThan(0)
  }, 120_000)
})
