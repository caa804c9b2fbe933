// Keeps an API key within its rate (section 8): never more than so many requests in any minute, in
// the order in which they were asked for, with a pause for everybody when the service asks for one.
import { type Clock, steadyClock } from '../clock.ts'
import { WebhookError } from '../errors.ts'
import { limits } from '../protocol/resources.ts'

/** Lets requests go one after the other; one for all clients that share a key. */
export interface Limiter {
  /**
   * Waits for its turn; what comes back must be called when the request has ended. Rejects with
   * the signal's reason when it is aborted first.
   */
  acquire(signal?: AbortSignal): Promise<() => void>
  /** Holds everybody for so many milliseconds. */
  pause(ms: number): void
  /** How many wait. */
  readonly waiting: number
}

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** 200 by default, the limit of the Professional and Business plans. */
  readonly perMinute?: number | undefined
  /** By default one that corrections of the system's clock do not move. */
  readonly now?: Clock | undefined
}

interface Waiter {
  readonly grant: () => void
}

const minute = 60_000

/**
 * Makes a limiter, to be shared by the clients of one key.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example createClient({ baseUrl, apiKey, limiter: createLimiter({ perMinute: 1000 }) })
 */
export function createLimiter(options: LimiterOptions = {}): Limiter {
  const { perMinute = limits.ratePerMinute, now = steadyClock } = options
  if (!Number.isSafeInteger(perMinute) || perMinute < 1) {
    throw new WebhookError(
      'OPTION_INVALID',
      `perMinute is ${perMinute}: give a whole number from 1`,
    )
  }
  const time = steady(now)
  const queue = new Set<Waiter>()
  // A request counts from its start until a minute after its end: whenever in between the service
  // has counted it, and whatever its window is, that window never sees more than its limit.
  const ended: number[] = []
  let running = 0
  let pausedUntil = Number.NEGATIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined

  const pump = () => {
    clearTimeout(timer)
    timer = undefined
    const at = time()
    while (ended.length > 0 && at - (ended[0] ?? at) >= minute) ended.shift()
    for (const waiter of queue) {
      if (at < pausedUntil || running + ended.length >= perMinute) break
      queue.delete(waiter)
      running += 1
      waiter.grant()
    }
    if (queue.size === 0) return
    const full = running + ended.length >= perMinute
    // When all places are taken by requests that run, the next end comes back here.
    if (full && ended.length === 0 && at >= pausedUntil) return
    const free = full && ended.length > 0 ? (ended[0] ?? at) + minute : at
    timer = setTimeout(pump, Math.min(Math.max(1, Math.max(free, pausedUntil) - at), 2 ** 31 - 1))
  }
  const release = () => {
    running -= 1
    ended.push(time())
    pump()
  }

  return {
    get waiting() {
      return queue.size
    },
    pause(ms) {
      pausedUntil = Math.max(pausedUntil, time() + ms)
      pump()
    },
    acquire: (signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason)
        const leave = () => {
          queue.delete(waiter)
          pump()
          reject(signal?.reason)
        }
        const waiter: Waiter = {
          grant() {
            signal?.removeEventListener('abort', leave)
            resolve(once(release))
          },
        }
        signal?.addEventListener('abort', leave, { once: true })
        queue.add(waiter)
        pump()
      }),
  }
}

/** A clock that was set back must not hold requests until it has caught up. */
function steady(now: Clock): () => number {
  let last = Number.NEGATIVE_INFINITY
  let offset = 0
  return () => {
    const at = now().getTime()
    if (at + offset < last) offset = last - at
    last = at + offset
    return last
  }
}

function once(action: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    action()
  }
}
