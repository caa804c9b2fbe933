// The sandbox's time: it runs, stands still, is set or moved on, and what falls due happens in the
// order of time, each to its end before the next.
import type { Clock } from '../clock.ts'
import { invalid } from './http-error.ts'
import type { EngineClock } from './ports.ts'
import { isSandboxTime, timeBoundsWords } from './schemas/control-schemas.ts'

/** How a sandbox's clock starts. */
export interface ClockOptions {
  /** What it runs by while it is not frozen. */
  readonly source: Clock
  /** Where it stands still from the start. */
  readonly frozenAt?: Date | undefined
}

/** A sandbox's clock; the deliveries tell it how to wait for what a task started. */
export interface SandboxClock extends EngineClock {
  /** Called after each task that fell due while the clock was moved. */
  settleWith(settle: () => Promise<void>): void
}

interface Task {
  readonly at: number
  readonly seq: number
  readonly run: () => void
}

/** setTimeout takes no more than this many milliseconds. */
const longestTimer = 2 ** 31 - 1

export function createSandboxClock({ source, frozenAt }: ClockOptions): SandboxClock {
  const tasks = new Set<Task>()
  let frozen = frozenAt?.getTime()
  let offset = 0
  let seq = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let settle = async () => {}
  let moving: Promise<void> = Promise.resolve()
  /** Counts the states that were loaded: what began in one moves nothing in the next. */
  let age = 0

  const time = () => frozen ?? source().getTime() + offset
  const place = (at: number) => {
    if (frozen === undefined) offset = at - source().getTime()
    else frozen = at
  }
  const next = (until: number): Task | undefined => {
    let first: Task | undefined
    for (const task of tasks) {
      if (task.at > until) continue
      if (!first || task.at < first.at || (task.at === first.at && task.seq < first.seq))
        first = task
    }
    return first
  }
  /** The real timer for the earliest task, while the clock runs. */
  const arm = () => {
    clearTimeout(timer)
    const first = frozen === undefined ? next(Number.POSITIVE_INFINITY) : undefined
    if (!first) return
    timer = setTimeout(fire, Math.min(Math.max(first.at - time(), 0), longestTimer))
    // A sandbox inside a test must not hold the process for a retry of tomorrow.
    ;(timer as { unref?: () => void }).unref?.()
  }
  const fire = () => {
    for (let task = next(time()); task; task = next(time())) {
      tasks.delete(task)
      task.run()
    }
    arm()
  }
  const moveTo = async (wanted: () => number, field: string) => {
    const born = age
    // What is due already happens at the time it is due.
    await settle()
    const target = wanted()
    if (!isSandboxTime(target)) throw invalid([{ field, message: timeBoundsWords }])
    while (born === age) {
      const task = next(target)
      if (!task) {
        place(target)
        return arm()
      }
      tasks.delete(task)
      // Time never goes back for a task that was late already.
      if (task.at > time()) place(task.at)
      task.run()
      await settle()
    }
  }
  /** Two that move the clock at once move it one after the other. */
  const inTurn = (wanted: () => number, field: string) => {
    const born = age
    const move = async () => {
      if (born === age) await moveTo(wanted, field)
    }
    moving = moving.then(move, move)
    return moving
  }

  return {
    now: () => new Date(time()),
    get frozen() {
      return frozen !== undefined
    },
    freeze() {
      frozen = time()
      arm()
    },
    unfreeze() {
      if (frozen === undefined) return
      const at = frozen
      frozen = undefined
      place(at)
      arm()
    },
    set: (date) => inTurn(() => date.getTime(), 'now'),
    advance: ({ seconds = 0, days = 0 }) =>
      inTurn(() => time() + (seconds + days * 86_400) * 1000, days > 0 ? 'days' : 'seconds'),
    schedule(at, run) {
      const task = { at: at.getTime(), seq: seq++, run }
      tasks.add(task)
      arm()
      return () => {
        tasks.delete(task)
      }
    },
    settleWith(how) {
      settle = how
    },
    dump: () => ({ now: new Date(time()).toISOString(), frozen: frozen !== undefined, offset }),
    load(saved) {
      age++
      tasks.clear()
      frozen = saved.frozen ? Date.parse(saved.now) : undefined
      offset = saved.offset
      arm()
    },
    close() {
      clearTimeout(timer)
      tasks.clear()
    },
  }
}
