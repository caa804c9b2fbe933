// Brings deliveries to their subscriptions: in the order of events, a few at a time, again when it
// failed, until the retries are spent. Every change is told before anything else happens.
import type { Fetch } from '../../client/attempt.ts'
import { systemClock } from '../../clock.ts'
import { isEventName } from '../../protocol/names.ts'
import type { SandboxClock } from '../clock.ts'
import type { AttemptFault, SandboxFaults } from '../faults.ts'
import type {
  DeliveryFilter,
  EngineChange,
  EngineDeliveries,
  EngineDump,
  SubscriptionRow,
} from '../ports.ts'
import { profile } from '../profile.ts'
import type { SandboxRandom } from '../random.ts'
import type { Attempt, DeliveryRow } from '../schemas/deliveries.ts'
import { attempt, signBody } from './attempt.ts'
import { refuseFromWithin } from './from-within.ts'
import { type PlanParts, planDeliveries } from './plan.ts'
import { createQueue } from './queue.ts'
import { waitAfter } from './retry.ts'
import { details, summary } from './shown.ts'
import { createSubscriptions, signingSecrets } from './subscriptions.ts'

export interface DeliveriesParts {
  readonly clock: SandboxClock
  readonly random: SandboxRandom
  readonly faults: SandboxFaults
  readonly send: Fetch
  readonly timeoutMs: number
  readonly onChange: (change: EngineChange) => void
}

export function createDeliveries(parts: DeliveriesParts): EngineDeliveries {
  const { clock, random, faults, onChange } = parts
  const rows = new Map<string, DeliveryRow>()
  const scheduled = new Map<string, () => void>()
  /** The reordered delivery of each subscription that waits for the next one to pass it. */
  const waiting = new Map<string, string>()
  const perSubscription = profile.delivery.concurrency
  const newQueue = () => createQueue({ perSubscription, bring })
  let queue = newQueue()
  let seq = 0

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
    unplan(row)
    const next = { ...row, status, ...(status === 'dropped' && { nextAttemptAt: null }) } as const
    put(next)
    plan(next)
  }
  function unplan({ id, subscriptionId }: DeliveryRow): void {
    scheduled.get(id)?.()
    scheduled.delete(id)
    if (waiting.get(subscriptionId) === id) waiting.delete(subscriptionId)
    queue.remove({ id, subscriptionId })
  }
  /** Puts a pending delivery where it waits: among those due now, or on the clock. */
  function plan(row: DeliveryRow): void {
    const { id, subscriptionId, nextAttemptAt, status } = row
    if (status !== 'pending' || nextAttemptAt === null) return
    if (row.after) waiting.set(subscriptionId, id)
    // They go in pairs: the one after this may be passed in its turn.
    if (waiting.get(subscriptionId) === row.passes) waiting.delete(subscriptionId)
    // A storm is one just because nothing holds it back.
    const lane = row.fault === 'storm' ? id : `${subscriptionId} ${row.resourceId}`
    const makeDue = () => {
      scheduled.delete(id)
      if (waiting.get(subscriptionId) === id) waiting.delete(subscriptionId)
      queue.add({ id, subscriptionId, lane })
    }
    const at = new Date(nextAttemptAt)
    if (at.getTime() <= clock.now().getTime()) makeDue()
    else scheduled.set(id, clock.schedule(at, makeDue))
  }
  /** Lets a reordered delivery go, for the next one has passed it or none will come. */
  function release(id: string): void {
    const row = rows.get(id)
    if (row?.status !== 'pending' || !row.after) return
    const { after: _, ...free } = row
    unplan(row)
    const next = { ...free, nextAttemptAt: clock.now().toISOString() }
    put(next)
    plan(next)
  }

  async function bring(id: string, ended: AbortSignal): Promise<void> {
    const row = rows.get(id)
    const subscription = row && subscriptions.rows.get(row.subscriptionId)
    if (!subscription) return
    const now = () => clock.now()
    const signature =
      row.signature ?? (await signBody(row.body, signingSecrets(subscription, now()), now))
    if (ended.aborted) return
    const fault = faults.forAttempt({
      subscriptionId: subscription.id,
      event: row.canonicalEvent,
      die: `attempt ${row.id} ${row.attempts.length}`,
    })?.kind as AttemptFault | undefined
    const { url } = subscription
    const { send, timeoutMs } = parts
    const { body } = row
    const made = await attempt({
      url,
      body,
      signature,
      fault,
      send,
      timeoutMs,
      now,
      closing: ended,
    })
    // What a closing, a reset or a restore cut off was no attempt of the state that is now.
    if (ended.aborted) return
    const current = rows.get(row.id)
    if (current) settle({ ...current, signature }, made)
  }
  function settle({ after: _, passes, ...row }: DeliveryRow, made: Attempt): void {
    const attempts = [...row.attempts, made]
    const status = made.response?.status ?? 0
    const succeeded = status >= 200 && status < 300
    const wait = succeeded ? undefined : waitAfter(attempts, systemClock)
    if (wait === undefined) {
      put({ ...row, attempts, status: succeeded ? 'delivered' : 'failed', nextAttemptAt: null })
    } else {
      const nextAttemptAt = new Date(clock.now().getTime() + wait * 1000).toISOString()
      const next = { ...row, attempts, nextAttemptAt }
      put(next)
      plan(next)
    }
    if (passes !== undefined) release(passes)
  }
  /** Undefined when its subscription is gone; held while that is paused. */
  function sendAgain(row: DeliveryRow): DeliveryRow | undefined {
    const subscription = subscriptions.rows.get(row.subscriptionId)
    if (!subscription) return undefined
    unplan(row)
    // Sent by hand it is signed with the secrets of today.
    const { signature: _, after: __, ...fresh } = row
    const nextAttemptAt = clock.now().toISOString()
    const status = subscription.active ? 'pending' : 'held'
    const next = { ...fresh, status, nextAttemptAt } as const
    put(next)
    plan(next)
    return next
  }
  /** While the clock moves, a reordered delivery waits for its time or for who passes it. */
  clock.settleWith(() => queue.idle())

  return {
    subscriptions: subscriptions.subscriptions,
    emit({ organizationId, name, data, occurredAt }) {
      if (!isEventName(name)) throw new TypeError(`there is no event ${name}`)
      const ids = new Map<string, string>()
      const eventId = (one: string) => {
        const id = ids.get(one) ?? `evt_${random.uuid()}`
        ids.set(one, id)
        return id
      }
      const planned: PlanParts = {
        now: clock.now(),
        random,
        faults,
        nextSeq: () => ++seq,
        eventId,
        waiting: (subscriptionId) => waiting.get(subscriptionId),
        planned(row) {
          put(row)
          plan(row)
        },
      }
      for (const subscription of subscriptions.rows.values()) {
        const owner = subscription.organizationId
        if (owner !== null && owner !== organizationId) continue
        planDeliveries(subscription, { name, data, occurredAt }, planned)
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
    async drain() {
      refuseFromWithin('drain()')
      const mine = queue
      do {
        await mine.idle()
        if (mine !== queue) return
        // A reordered delivery that nothing followed goes at the end.
        for (const id of [...waiting.values()]) release(id)
      } while (mine.busy)
    },
    dump: () => ({
      subscriptions: [...subscriptions.rows.values()],
      deliveries: [...rows.values()],
    }),
    load(saved: EngineDump) {
      queue.end('another state was loaded')
      queue = newQueue()
      for (const cancel of scheduled.values()) cancel()
      for (const map of [scheduled, waiting, rows]) map.clear()
      subscriptions.load(saved.subscriptions)
      const kept = [...saved.deliveries].sort((a, b) => a.seq - b.seq)
      for (const row of kept) rows.set(row.id, row)
      seq = kept.at(-1)?.seq ?? 0
      for (const row of kept) plan(row)
    },
    close() {
      queue.end('the sandbox is closing')
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
