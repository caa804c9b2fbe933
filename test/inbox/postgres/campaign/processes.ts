// The processes of a campaign under a supervisor: whatever ends is started again, and when it ended
// is evidence.
import { type ChildProcess, fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ChildOptions } from './child.ts'
import type { Stop } from './verdict.ts'

/** Milliseconds of a clock that all processes of the machine share. */
export const now = () => Number(process.hrtime.bigint() / 1_000_000n)

interface Running {
  readonly options: ChildOptions
  process: ChildProcess
  /** Where a receiver listens; 0 until it does. */
  port: number
  isReady: boolean
}

export class Processes {
  readonly stops: Stop[] = []
  /** Processes that ended by themselves: none may. */
  crashed = 0
  readonly #running = new Map<string, Running>()
  readonly #killedByLot = new WeakSet<ChildProcess>()
  #isOver = false

  start(options: ChildOptions): Promise<void> {
    const ready = Promise.withResolvers<void>()
    const launch = () => {
      const child = fork(join(import.meta.dirname, 'child.ts'), [JSON.stringify(options)], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        execArgv: ['--disable-warning=ExperimentalWarning'],
      })
      const running: Running = { options, process: child, port: 0, isReady: false }
      this.#running.set(options.name, running)
      child.once('message', (port: number) => {
        Object.assign(running, { port, isReady: true })
        ready.resolve()
      })
      child.once('exit', (_, signal) => {
        running.isReady = false
        if (this.#isOver) return
        this.stops.push({ at: now(), pid: child.pid ?? 0 })
        if (signal !== 'SIGKILL') this.crashed++
        launch()
      })
    }
    launch()
    return ready.promise
  }

  /** A port of a receiver that is up, or undefined. */
  get port(): number | undefined {
    const ports = [...this.#running.values()].flatMap(({ port, isReady }) =>
      isReady && port > 0 ? [port] : [],
    )
    return ports.length > 0 ? ports[randomInt(ports.length)] : undefined
  }

  /** Kills one by lot; false when that one is just starting. */
  killAny(): boolean {
    const all = [...this.#running.values()]
    const one = all[randomInt(all.length)]
    if (one?.isReady !== true || !one.process.kill('SIGKILL')) return false
    this.#killedByLot.add(one.process)
    return true
  }

  /** Has a process of the role kill itself at a step; false when it did not within the time. */
  async killAt(role: ChildOptions['role'], step: string, limit: number): Promise<boolean> {
    const end = performance.now() + limit
    let child = this.#drawn(role)
    for (; !child?.connected; child = this.#drawn(role)) {
      if (performance.now() > end) return false
      await sleep(50)
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const one = child
    one.once('exit', () => resolve(!this.#killedByLot.has(one)))
    one.send(step, () => {})
    const timer = setTimeout(() => resolve(false), limit)
    const isDead = await promise
    clearTimeout(timer)
    if (!isDead && one.connected) one.send('', () => {})
    return isDead
  }

  /** A process of the role that is up. */
  #drawn(role: ChildOptions['role']): ChildProcess | undefined {
    const all = [...this.#running.values()].filter(
      ({ options, isReady }) => options.role === role && isReady,
    )
    return all[randomInt(Math.max(1, all.length))]?.process
  }

  /** Stops one for a while, as when its machine is suspended. */
  async suspend(name: string, time: number): Promise<void> {
    const child = this.#running.get(name)?.process
    if (!child?.pid || !child.kill('SIGSTOP')) return
    this.stops.push({ at: now(), pid: child.pid })
    await sleep(time)
    child.kill('SIGCONT')
  }

  /** From now on it cannot reach the database: what it has in hand may go to another. */
  cutOff(name: string): void {
    const { pid = 0 } = this.#running.get(name)?.process ?? {}
    this.stops.push({ at: now(), pid })
  }

  end(): void {
    this.#isOver = true
    for (const { process } of this.#running.values()) process.kill('SIGKILL')
  }
}
