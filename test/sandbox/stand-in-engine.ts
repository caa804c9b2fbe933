// An engine of the least size, to test the API, the state and the control plane by themselves: a
// clock that stands still until it is moved, and deliveries that are sent when drained.
import { createHash } from 'node:crypto'
import type {
  ApiFault,
  Engine,
  EngineChange,
  EngineSubscription,
} from '../../src/sandbox/engine.ts'
import { profile } from '../../src/sandbox/profile.ts'
import { sign } from '../../src/signature.ts'
import { covers, legacyNameOf } from '../../src/protocol/names.ts'

interface StandInOptions {
  readonly seed: string | number
  readonly now: Date
  readonly onChange: (change: EngineChange) => void
  readonly fetch: typeof fetch
}

export function standInEngine(options: StandInOptions): Engine {
  const clock = standInClock(options.now)
  const random = standInRandom(options.seed)
  const subscriptions = new Map<string, EngineSubscription>()
  type Sent = { id: string; subscriptionId: string; event: string; status: string; body: string }
  const deliveries = new Map<string, Sent>()
  let faults: ApiFault[] = []
  const keep = (kind: 'subscription' | 'delivery', value: { id: string }) =>
    options.onChange({ kind, id: value.id, value })
  const put = (one: EngineSubscription) => {
    subscriptions.set(one.id, one)
    keep('subscription', one)
    return one
  }
  const send = async (sent: Sent) => {
    const to = subscriptions.get(sent.subscriptionId)
    if (!to) return
    const headers = await sign(sent.body, { secret: to.secret, now: clock.now })
    const response = await options
      .fetch(to.url, {
        method: 'POST',
        body: sent.body,
        headers: { ...headers, 'content-type': 'application/json' },
      })
      .catch(() => undefined)
    const next = { ...sent, status: response?.ok ? 'delivered' : 'failed' }
    deliveries.set(sent.id, next)
    keep('delivery', next)
  }
  return {
    clock,
    random,
    faults: {
      list: () => faults,
      set(value) {
        if (!Array.isArray(value)) return [{ field: '', message: 'is no list' }]
        faults = value
        return []
      },
      clear: () => {
        faults = []
      },
      forApi: () => faults.shift(),
      dump: () => faults,
      load: (saved) => {
        faults = saved as ApiFault[]
      },
    },
    deliveries: {
      subscriptions: {
        list: () => [...subscriptions.values()],
        get: (id) => subscriptions.get(id),
        create: (input) =>
          put({
            id: random.uuid(),
            url: input.url,
            events: input.events ?? ['*'],
            secret: input.secret ?? '',
            active: input.active ?? true,
            createdAt: clock.now().toISOString(),
            organisationId: input.organisationId ?? null,
          }),
        update(id, patch) {
          const one = subscriptions.get(id)
          const given = Object.entries(patch).filter(([, value]) => value !== undefined)
          return one && put({ ...one, ...Object.fromEntries(given) })
        },
        remove(id) {
          options.onChange({ kind: 'subscription', id, value: undefined })
          return subscriptions.delete(id)
        },
        rotateSecret(id, { secret = random.token() } = {}) {
          const one = subscriptions.get(id)
          return one && put({ ...one, secret })
        },
      },
      emit({ organisationId, name, data, occurredAt }) {
        for (const one of subscriptions.values()) {
          if (!one.active || (one.organisationId ?? organisationId) !== organisationId) continue
          const legacy = legacyNameOf(name)
          const names = [name, ...(legacy ? [legacy] : [])]
          for (const event of names) {
            if (!one.events.some((filter) => covers(filter, event))) continue
            if (event !== name && one.events.includes('*')) continue
            const envelope = {
              id: random.uuid(),
              event,
              createdAt: occurredAt.toISOString(),
              data,
            }
            const body = JSON.stringify(profile.envelope(envelope))
            const sent = { id: random.uuid(), subscriptionId: one.id, event, status: 'pending', body }
            deliveries.set(sent.id, sent)
            keep('delivery', sent)
          }
        }
      },
      list: ({ subscriptionId, event, status } = {}) =>
        [...deliveries.values()].filter(
          (one) =>
            (subscriptionId ?? one.subscriptionId) === one.subscriptionId &&
            (event ?? one.event) === one.event &&
            (status ?? one.status) === one.status,
        ),
      get: (id) => deliveries.get(id),
      resend(id) {
        const sent = deliveries.get(id)
        if (sent) deliveries.set(id, { ...sent, status: 'pending' })
        return deliveries.get(id)
      },
      async drain() {
        for (const sent of [...deliveries.values()]) if (sent.status === 'pending') await send(sent)
      },
      dump: () => ({
        subscriptions: [...subscriptions.values()],
        deliveries: [...deliveries.values()],
      }),
      load(saved) {
        subscriptions.clear()
        deliveries.clear()
        for (const one of saved.subscriptions) subscriptions.set(one.id, one as EngineSubscription)
        for (const one of saved.deliveries) deliveries.set(one.id, one as Sent)
      },
      close() {},
    },
  }
}

function standInClock(start: Date): Engine['clock'] {
  let time = start.getTime()
  let frozen = true
  const tasks = new Set<{ at: number; task: () => void }>()
  const runUntil = (end: number) => {
    for (;;) {
      const due = [...tasks].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
      if (!due) break
      tasks.delete(due)
      time = Math.max(time, due.at)
      due.task()
    }
    time = end
  }
  return {
    now: () => new Date(time),
    get frozen() {
      return frozen
    },
    freeze: () => {
      frozen = true
    },
    unfreeze: () => {
      frozen = false
    },
    async set(date) {
      if (date.getTime() > time) runUntil(date.getTime())
      time = date.getTime()
    },
    async advance({ seconds = 0, days = 0 }) {
      runUntil(time + seconds * 1000 + days * 86_400_000)
    },
    schedule(at, task) {
      const one = { at: at.getTime(), task }
      tasks.add(one)
      return () => tasks.delete(one)
    },
    dump: () => ({ time, frozen }),
    load(saved) {
      const state = saved as { time: number; frozen: boolean }
      time = state.time
      frozen = state.frozen
    },
    close() {},
  }
}

function standInRandom(seed: string | number): Engine['random'] {
  let count = 0
  const digest = () => createHash('sha256').update(`${seed}/${count++}`).digest()
  return {
    uuid() {
      const hex = digest().toString('hex')
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
    },
    token: () => digest().toString('base64url'),
    int: (min, max) => min + (digest().readUInt32BE(0) % (max - min + 1)),
    state: () => count,
    restore(state) {
      count = state as number
    },
  }
}
