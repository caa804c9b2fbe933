import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sized } from '../tier.ts'
import { judge } from './history.ts'
import { Bench, eventsOf, type Sent } from './processes.ts'

const library = join(tmpdir(), `idv-disk-${process.pid}.so`)

/** Why a kind of disk cannot be had here; on a build server that is a failure, not an omission. */
function unlessMissing(why: string | undefined): { readonly skip: boolean; readonly note: string } {
  if (why !== undefined && process.env.CI) throw new Error(`these tests must run in CI: ${why}`)
  return { skip: why !== undefined, note: why === undefined ? '' : ` (left out: ${why})` }
}

function compiled(): string | undefined {
  if (process.platform !== 'linux') return 'a failing disk needs Linux'
  try {
    const source = join(import.meta.dirname, 'disk.c')
    const args = ['-shared', '-fPIC', '-O2', '-Wall', '-o', library, source, '-ldl']
    execFileSync('cc', args, { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return `a failing disk needs a C compiler: ${error instanceof Error ? error.message : 'cc failed'}`
  }
}

/** A process may be root and still not be allowed to mount. */
function mounted(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'idv-mount-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'pipe' })
    execFileSync('umount', ['-l', folder], { stdio: 'pipe' })
    return undefined
  } catch {
    return 'mounting a small disk needs Linux and root'
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const failing = unlessMissing(compiled())
const small = unlessMissing(mounted())

/** Starts it as it should be, waits until everything has ended, and judges. */
async function settleDown(bench: Bench) {
  if (!bench.isRunning) await bench.start()
  await bench.quiet()
  bench.signal('SIGTERM')
  expect(await bench.ended()).toBe(0)
  const history = await bench.read()
  expect(judge(history)).toEqual([])
  return history
}

describe('a full disk', () => {
  test('is 503 to the sender, and everything goes on when there is room, without a restart', async () => {
    const bench = new Bench()
    const full = join(bench.folder, 'full')
    await bench.start({ FULL_WHILE: full })
    const sent = eventsOf(120, 10)
    const send = (from: number, to: number) =>
      Promise.all(sent.slice(from, to).map((one) => bench.send(one)))
    expect(new Set(await send(0, 20))).toEqual(new Set([202]))
    writeFileSync(full, '')
    const refused = await send(20, 120)
    expect(refused).toContain(503)
    expect(refused.filter((status) => status !== 202 && status !== 503)).toEqual([])
    rmSync(full)
    const again = await Promise.all(sent.map((one) => bench.send(one)))
    expect(again.filter((status) => status !== 200 && status !== 202)).toEqual([])
    expect((await settleDown(bench)).rows).toHaveLength(120)
  })

  test.skipIf(small.skip)(`is the same on a real one, of 3 MB${small.note}`, async () => {
    const bench = new Bench()
    const mount = join(bench.folder, 'small')
    mkdirSync(mount)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', mount])
    onTestFinished(() => {
      execFileSync('umount', ['-l', mount])
    })
    const ballast = join(mount, 'ballast')
    writeFileSync(ballast, Buffer.alloc(2 ** 20))
    const environment = { DB: join(mount, 'inbox.db'), WORKER: '0' }
    await bench.start(environment)
    const statuses: number[] = []
    let sent = 0
    for (; sent < 4000 && !statuses.includes(503); sent += 20) {
      const batch = Array.from({ length: 20 }, (_, at) => ({ id: `evt-${sent + at}`, entity: 'e' }))
      statuses.push(...(await Promise.all(batch.map((one) => bench.send(one)))))
    }
    expect(new Set(statuses)).toEqual(new Set([202, 503]))
    rmSync(ballast)
    for (let at = sent - 20; at < sent; at++) {
      expect([200, 202]).toContain(await bench.send({ id: `evt-${at}`, entity: 'e' }))
    }
    await bench.kill()
    const { rows } = await bench.read(environment.DB)
    expect(rows).toHaveLength(sent)
  })
})

test('a disk that hangs is 503 to senders, and does not keep the process from ending', async () => {
  const bench = new Bench()
  const hangs = join(bench.folder, 'hangs')
  const environment = { HANGS_WHILE: hangs, GRACE: '100', TIMEOUT: '200' }
  await bench.start(environment)
  const [one, two, three] = eventsOf(3, 3) as [Sent, Sent, Sent]
  expect(await bench.send(one)).toBe(202)
  await bench.quiet()
  writeFileSync(hangs, '')
  expect(await bench.send(two)).toBe(503)
  bench.signal('SIGTERM')
  expect(await bench.ended()).toBe(1)
  rmSync(hangs)
  await bench.start()
  for (const event of [one, two, three]) await bench.deliver(event)
  expect((await settleDown(bench)).rows).toHaveLength(3)
})

describe.skipIf(failing.skip)(`a failing disk${failing.note}`, () => {
  const preload = (bench: Bench) => ({
    LD_PRELOAD: library,
    DISK_LIVE: bench.folder,
    DISK_FAILS: join(bench.folder, 'fails'),
  })

  test('ends the service: its file is read again after a restart', async () => {
    const bench = new Bench()
    await bench.start(preload(bench))
    const [one, two, three] = eventsOf(3, 3) as [Sent, Sent, Sent]
    expect(await bench.send(one)).toBe(202)
    const fails = join(bench.folder, 'fails')
    writeFileSync(fails, '')
    expect(await bench.send(two)).toBe(503)
    rmSync(fails)
    expect(await bench.send(three)).toBe(503)
    await bench.kill()
    await bench.start()
    for (const event of [one, two, three]) await bench.deliver(event)
    expect((await settleDown(bench)).rows).toHaveLength(3)
  })

  /** Serves a load, loses its power at a random moment, and is started on what is left. */
  async function losePower(environment: Record<string, string>) {
    const bench = new Bench()
    const [live, kept] = [join(bench.folder, 'live'), join(bench.folder, 'kept')]
    mkdirSync(live)
    mkdirSync(kept)
    const disk = { LD_PRELOAD: library, DISK_LIVE: live, DISK_KEPT: kept }
    await bench.start({ DB: join(live, 'inbox.db'), ...disk, ...environment })
    let isOver = false
    const begun = Promise.withResolvers<void>()
    const sender = async (lane: number) => {
      for (let at = 0; !isOver; at++) {
        const status = await bench.send({ id: `${lane}-${at}`, entity: `ver-${lane}` })
        if (status === 202) begun.resolve()
      }
    }
    const senders = Array.from({ length: 8 }, (_, lane) => sender(lane))
    await begun.promise
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 300))
    await bench.kill()
    isOver = true
    await Promise.all(senders)
    const left = join(kept, 'inbox.db')
    if (!existsSync(left)) return { acked: 0, broken: ['nothing is left'] }
    bench.live = left
    await bench.start()
    await bench.quiet()
    bench.signal('SIGTERM')
    await bench.ended()
    const history = await bench.read()
    const acked = history.happenings.filter((it) => it.type === 'answered' && it.status === 202)
    return { acked: acked.length, broken: judge(history) }
  }

  const rounds = Number(process.env.POWER_CUTS ?? sized(2, 12))

  test(`that loses its power ${rounds} times loses nothing that was acked, and no effect twice`, async () => {
    let all = 0
    for (let round = 0; round < rounds; round++) {
      const { acked, broken } = await losePower({})
      expect(broken).toEqual([])
      all += acked
    }
    expect(all).toBeGreaterThan(rounds)
  }, 300_000)

  test('does lose acked events when commits are not synced, so this test bites', async () => {
    let lost = 0
    for (let round = 0; round < 20 && lost === 0; round++) {
      const { broken } = await losePower({ FAULT: 'unsafe' })
      lost += broken.filter((one) => one.includes('is not stored')).length
    }
    expect(lost).toBeGreaterThan(0)
  }, 300_000)
})
