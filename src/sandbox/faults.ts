// What goes wrong on purpose: rules as data, checked, counted or by chance, for deliveries and for
// the API. It decides when a fault strikes; what it does is done where it strikes.
import type { ApiFault, EngineFaults } from './engine.ts'
import type { SandboxRandom } from './random.ts'

/** Faults that change which deliveries an occurrence makes. */
export const plannedFaults = [
  'duplicate',
  'reorder',
  'delay',
  'drop',
  'oversized',
  'legacy-name',
  'unknown-event',
  'stale-replay',
  'storm',
  'overlap',
] as const
/** Faults that change a single attempt; the next attempt may be whole again. */
export const attemptFaults = [
  'wrong-signature',
  'missing-signature',
  'tampered',
  'truncated',
  're-serialised',
  'slow-drip',
  'connection-reset',
] as const
/** Faults of the API. */
export const apiFaults = ['error-429', 'error-500', 'timeout', 'malformed-json', 'slow'] as const

export type PlannedFault = (typeof plannedFaults)[number]
export type AttemptFault = (typeof attemptFaults)[number]
export type FaultKind = PlannedFault | AttemptFault | (typeof apiFaults)[number]

/** A rule; without `times` and `probability` it strikes always. */
export interface Fault {
  readonly kind: FaultKind
  /** How often it strikes before it is spent. */
  readonly times?: number
  /** From 0 to 1, by a die that the seed decides. */
  readonly probability?: number
  /** Deliveries of this event alone, under either name. */
  readonly event?: string
  /** Deliveries of this subscription alone. */
  readonly subscriptionId?: string
  /** API requests of this method, and of paths that begin so, alone. */
  readonly method?: string
  readonly path?: string
  /** How long a delay, a stale replay or a slow answer takes; how long a 429 asks to wait. */
  readonly seconds?: number
  /** How many deliveries a storm makes. */
  readonly copies?: number
}

/** A delivery, as far as rules look at it. */
export interface Struck {
  readonly subscriptionId: string
  readonly names: readonly string[]
  /** Names the die, so that chance does not depend on the order of answers. */
  readonly die: string
}

export interface SandboxFaults extends EngineFaults {
  add(fault: Fault): void
  forPlan(struck: Struck): Fault | undefined
  forAttempt(struck: Struck): Fault | undefined
}

interface Rule {
  readonly fault: Fault
  struck: number
  seen: number
}

const kinds: readonly string[] = [...plannedFaults, ...attemptFaults, ...apiFaults]

export function createFaults(random: Pick<SandboxRandom, 'die'>): SandboxFaults {
  let rules: Rule[] = []

  const strike = (fits: (fault: Fault) => boolean, die?: string): Fault | undefined => {
    for (const [at, rule] of rules.entries()) {
      const { fault } = rule
      if (!fits(fault) || (fault.times !== undefined && rule.struck >= fault.times)) continue
      rule.seen += 1
      const chance = random.die(`fault ${at} ${die ?? rule.seen}`)
      if (fault.probability !== undefined && chance >= fault.probability) continue
      rule.struck += 1
      return fault
    }
    return undefined
  }
  const hits =
    (stage: readonly string[], { subscriptionId, names }: Struck) =>
    (fault: Fault) =>
      stage.includes(fault.kind) &&
      (fault.event === undefined || names.includes(fault.event)) &&
      (fault.subscriptionId === undefined || fault.subscriptionId === subscriptionId)

  return {
    list: () => rules.map(({ fault, struck }) => ({ ...fault, struck })),
    set(value) {
      const { faults, errors } = parseFaults(value)
      if (errors.length === 0) rules = faults.map((fault) => ({ fault, struck: 0, seen: 0 }))
      return errors
    },
    add(fault) {
      rules.push({ fault, struck: 0, seen: 0 })
    },
    clear() {
      rules = []
    },
    forPlan: (struck) => strike(hits(plannedFaults, struck), struck.die),
    forAttempt: (struck) => strike(hits(attemptFaults, struck), struck.die),
    forApi({ method, path }): ApiFault | undefined {
      return strike(
        (fault) =>
          (apiFaults as readonly string[]).includes(fault.kind) &&
          (fault.method === undefined || fault.method.toUpperCase() === method) &&
          (fault.path === undefined || path.startsWith(fault.path)),
      )
    },
    dump: () => rules.map((rule) => ({ ...rule })),
    load(saved) {
      rules = (saved as readonly Rule[]).map((rule) => ({ ...rule }))
    },
  }
}

interface FieldError {
  readonly field: string
  readonly message: string
}

/** Reads `{ faults: [...] }` or the list alone; every offending field is named. */
export function parseFaults(value: unknown): {
  readonly faults: readonly Fault[]
  readonly errors: readonly FieldError[]
} {
  const inner = isObject(value) ? value.faults : value
  if (!Array.isArray(inner)) {
    return { faults: [], errors: [{ field: 'faults', message: 'must be a list of faults' }] }
  }
  const errors = inner.flatMap((fault: unknown, at) => faultErrors(fault, `faults.${at}`))
  return { faults: inner as readonly Fault[], errors }
}

const checks: Readonly<Record<keyof Fault, readonly [(value: unknown) => boolean, string]>> = {
  kind: [(value) => kinds.includes(value as string), `must be one of ${kinds.join(', ')}`],
  times: [isWhole(1), 'must be a whole number from 1'],
  probability: [
    (value) => typeof value === 'number' && value >= 0 && value <= 1,
    'must be a number from 0 to 1',
  ],
  event: [isText, 'must be the name of an event'],
  subscriptionId: [isText, 'must be the id of a subscription'],
  method: [isText, 'must be an HTTP method'],
  path: [isText, 'must be the beginning of a path, e.g. /verifications'],
  seconds: [
    (value) => typeof value === 'number' && value >= 0 && value <= 31_536_000,
    'must be a number from 0 to 31536000',
  ],
  copies: [isWhole(1, 10_000), 'must be a whole number from 1 to 10000'],
}

function faultErrors(fault: unknown, at: string): FieldError[] {
  if (!isObject(fault)) return [{ field: at, message: 'must be an object with a kind' }]
  const fields = new Set(['kind', ...Object.keys(fault)])
  return [...fields].flatMap((field) => {
    const check = Object.hasOwn(checks, field) ? checks[field as keyof Fault] : undefined
    if (!check)
      return field === 'struck' ? [] : [{ field: `${at}.${field}`, message: 'is unknown' }]
    const value = fault[field]
    const fine = (value === undefined && field !== 'kind') || check[0](value)
    return fine ? [] : [{ field: `${at}.${field}`, message: check[1] }]
  })
}

function isWhole(least: number, most = Number.MAX_SAFE_INTEGER) {
  return (value: unknown) =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
