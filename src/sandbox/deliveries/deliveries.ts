// Brings deliveries to their subscriptions: in the order of events, a few at a time, again when it
// failed, until the retries are spent. Every change is told before anything else happens.
import { isEventName } from '../../protocol/names.ts'
import type { SandboxClock } from '../clock.ts'
import type { DeliveryFilter, EngineChange, EngineDeliveries, EngineDump } from '../engine.ts'
import type { AttemptFault, SandboxFaults } from '../faults.ts'
import { profile } from '../profile.ts'
import type { SandboxRandom } from '../random.ts'
import { attempt, signBody } from './attempt.ts'
import { planDeliveries } from './plan.ts'
import type { Attempt, DeliveryRow, SubscriptionRow } from './records.ts'
import { createSubscriptions, signingSecrets } from './subscriptions.ts'

export interface DeliveriesParts {
  readonly clock: SandboxClock
  readonly random: SandboxRandom
  readonly faults: SandboxFaults
  readonly send: typeof fetch
  readonly timeoutMs: number
  readonly onChange: (change: EngineChange) => void
}

export function createDeliveries(parts: DeliveriesParts): EngineDeliveries {
  const { clock, random, faults, onChange } = parts
  const rows = new Map<string, DeliveryRow>()
  const due = new Set<string>()
  const scheduled = new Map<string, () => void>()
  const inFlight = new Map<string, Promise<void>>()
  /** What is on its way, by subscription and resource: one at a time. */
  const lanes = new Set<string>()
  const closing = new AbortController()
  let seq = 0
  let starting = false

  const put = (row: DeliveryRow) => {
    rows.set(row.id, row)
    onChange({ kind: 'delivery', id: row.id, value: row })
  }
  const subscriptions = createSubscriptions({
    now: () => clock.now(),
    random,
    changed(id, row) {
      onChange({ kind: 'subscription', id, value: row })
      for (const one of rows.values()) if (one.subscriptionId === id) reconsider(one, row)
    },
  })

  /** A pause holds what is pending, its end lets it go, a removal gives it up. */
  function reconsider(row: DeliveryRow, subscription: SubscriptionRow | undefined): void {
    if (row.status !== 'pending' && row.status !== 'held') return
    if (subscription && subscription.active === (row.status === 'pending')) return
    const status = !subscription ? 'dropped' : subscription.active ? 'pending' : 'held'
    unplan(row.id)
    put({ ...row, status, ...(status === 'dropped' && { nextAttemptAt: null }) })
    if (status === 'pending') plan({ ...row, status })
  }
  function unplan(id: string): void {
    scheduled.get(id)?.()
    scheduled.delete(id)
    due.delete(id)
  }
  /** Puts a pending delivery where it waits: among those due now, or on the clock. */
  function plan({ id, nextAttemptAt, status }: DeliveryRow): void {
    if (status !== 'pending' || nextAttemptAt === null) return
    const at = new Date(nextAttemptAt)
    const makeDue = () => {
      scheduled.delete(id)
      due.add(id)
      startSoon()
    }
    if (at.getTime() <= clock.now().getTime()) makeDue()
    else scheduled.set(id, clock.schedule(at, makeDue))
  }
  /** Not at once: what was emitted is kept and answered for first. */
  function startSoon(): void {
    if (starting) return
    starting = true
    setTimeout(() => {
      starting = false
      start()
    })
  }
  function start(): void {
    if (closing.signal.aborted) return
    for (const id of due) {
      if (inFlight.size >= profile.delivery.concurrency) return
      const row = rows.get(id)
      if (!row || (row.after && inOrder(row))) continue
      // A storm is one just because nothing holds it back.
      const lane = row.fault === 'storm' ? id : `${row.subscriptionId} ${row.resourceId}`
      if (lanes.has(lane)) continue
      lanes.add(lane)
      due.delete(id)
      const work = bring(row).finally(() => {
        inFlight.delete(row.id)
        lanes.delete(lane)
        start()
      })
      inFlight.set(row.id, work)
    }
  }
  /** Whether a reordered delivery still waits for another of its subscription to go first. */
  function inOrder(row: DeliveryRow): boolean {
    for (const other of rows.values()) {
      const later = other.seq > row.seq && other.subscriptionId === row.subscriptionId
      if (later && other.attempts.length > 0) return false
    }
    return !released
  }
  let released = false

  async function bring(row: DeliveryRow): Promise<void> {
    const subscription = subscriptions.rows.get(row.subscriptionId)
    if (!subscription) return
    const now = () => clock.now()
    const signature =
      row.signature ?? (await signBody(row.body, signingSecrets(subscription, now()), now))
    const fault = faults.forAttempt({
      subscriptionId: subscription.id,
      event: row.canonicalEvent,
      die: `attempt ${row.id} ${row.attempts.length}`,
    })?.kind as AttemptFault | undefined
    const made = await attempt({
      url: subscription.url,
      body: row.body,
      signature,
      fault,
      send: parts.send,
      timeoutMs: parts.timeoutMs,
      now,
      closing: closing.signal,
    })
    // What a closing sandbox cut off was no attempt: it goes on after the restart.
    if (closing.signal.aborted) return
    const current = rows.get(row.id)
    if (current) settle({ ...current, signature }, made)
  }
  function settle(row: DeliveryRow, made: Attempt): void {
    const attempts = [...row.attempts, made]
    const status = made.response?.status ?? 0
    const delay = profile.delivery.retryDelaysSeconds[attempts.length - 1]
    const succeeded = status >= 200 && status < 300
    if (succeeded || delay === undefined) {
      put({ ...row, attempts, status: succeeded ? 'delivered' : 'failed', nextAttemptAt: null })
      return
    }
    const wait = retryAfter(made, clock.now()) ?? delay
    const nextAttemptAt = new Date(clock.now().getTime() + wait * 1000).toISOString()
    const next = { ...row, attempts, nextAttemptAt }
    put(next)
    plan(next)
  }
  /** Undefined when its subscription is gone. */
  function sendAgain(row: DeliveryRow): DeliveryRow | undefined {
    if (!subscriptions.rows.has(row.subscriptionId)) return undefined
    unplan(row.id)
    // Sent by hand it is signed with the secrets of today.
    const { signature: _, after: __, ...fresh } = row
    const nextAttemptAt = clock.now().toISOString()
    const next = { ...fresh, status: 'pending', nextAttemptAt } as const
    put(next)
    plan(next)
    return next
  }
  async function drain(): Promise<void> {
    do {
      start()
      while (inFlight.size > 0 || starting) {
        await Promise.all(inFlight.values())
        await new Promise((resolve) => setTimeout(resolve))
      }
      // A reordered delivery that nothing followed goes at the end.
      released = due.size > 0
    } while (due.size > 0 && !closing.signal.aborted)
    released = false
  }
  clock.settleWith(drain)

  return {
    subscriptions: subscriptions.subscriptions,
    emit({ organisationId, name, data, occurredAt }) {
      if (!isEventName(name)) throw new TypeError(`there is no event ${name}`)
      const ids = new Map<string, string>()
      const eventId = (one: string) => {
        const id = ids.get(one) ?? `evt_${random.uuid()}`
        ids.set(one, id)
        return id
      }
      const planned = { now: clock.now(), random, faults, nextSeq: () => ++seq, eventId }
      for (const subscription of subscriptions.rows.values()) {
        const owner = subscription.organisationId
        if (owner !== null && owner !== organisationId) continue
        for (const row of planDeliveries(subscription, { name, data, occurredAt }, planned)) {
          put(row)
          plan(row)
        }
      }
    },
    list: (filter = {}) => [...rows.values()].filter(fits(filter)).reverse().map(summary),
    get: (id) => {
      const row = rows.get(id)
      return row && details(row)
    },
    resend(id) {
      const row = rows.get(id)
      const again = row && sendAgain(row)
      return again && details(again)
    },
    resendAll: (filter = {}) =>
      [...rows.values()].filter(fits(filter)).filter((row) => sendAgain(row)).length,
    drain,
    dump: () => ({
      subscriptions: [...subscriptions.rows.values()],
      deliveries: [...rows.values()],
    }),
    load(saved: EngineDump) {
      for (const id of [...scheduled.keys(), ...due]) unplan(id)
      rows.clear()
      subscriptions.load(saved.subscriptions as readonly SubscriptionRow[])
      const kept = [...(saved.deliveries as readonly DeliveryRow[])].sort((a, b) => a.seq - b.seq)
      for (const row of kept) rows.set(row.id, row)
      seq = kept.at(-1)?.seq ?? 0
      for (const row of kept) plan(row)
    },
    close() {
      closing.abort(new Error('the sandbox is closing'))
      for (const cancel of scheduled.values()) cancel()
    },
  }
}

function fits(filter: DeliveryFilter) {
  return ({ subscriptionId, event, canonicalEvent, status }: DeliveryRow): boolean =>
    (filter.subscriptionId === undefined || filter.subscriptionId === subscriptionId) &&
    (filter.event === undefined || [event, canonicalEvent].includes(filter.event)) &&
    (filter.status === undefined || filter.status === status)
}

/** Seconds that an answer asks to wait, as a number or a date; capped. */
function retryAfter({ response }: Attempt, now: Date): number | undefined {
  const value = response?.headers['retry-after']
  if (value === undefined) return undefined
  const seconds = /^\d+$/.test(value) ? Number(value) : (Date.parse(value) - now.getTime()) / 1000
  if (Number.isNaN(seconds)) return undefined
  return Math.min(Math.max(seconds, 0), profile.delivery.retryAfterMaxSeconds)
}

/** A delivery without its bytes and signature. */
function summary({ body: _, signature: __, seq: ___, ...row }: DeliveryRow) {
  const attempts = row.attempts.map(({ request: _request, response, ...rest }) => ({
    ...rest,
    ...(response && { status: response.status }),
  }))
  return { ...row, attempts }
}

/** A delivery with every attempt's exact bytes. */
function details({ signature: _, seq: __, ...row }: DeliveryRow) {
  return row
}
