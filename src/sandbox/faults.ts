// What goes wrong on purpose: rules as data, counted or by chance, for deliveries and for the API.
// It decides when a fault strikes; what it does is done where it strikes.

import { canonicalName, covers, type EventName } from '../protocol/names.ts'
import { fieldErrors } from './exchange.ts'
import { canonicalPath } from './legacy-paths.ts'
import type { ApiFault, EngineFaults } from './ports.ts'
import type { SandboxRandom } from './random.ts'
import {
  apiFaults,
  attemptFaults,
  type DeliveryFault,
  type Fault,
  faultsBody,
  plannedFaults,
} from './schemas/faults.ts'

export type PlannedFault = (typeof plannedFaults)[number]
export type AttemptFault = (typeof attemptFaults)[number]

/** A delivery, as far as rules look at it. */
export interface Struck {
  readonly subscriptionId: string
  readonly event: EventName
  /** Names the die, so that chance does not depend on the order of answers. */
  readonly die: string
}

export interface SandboxFaults extends EngineFaults {
  forPlan(struck: Struck): DeliveryFault | undefined
  forAttempt(struck: Struck): DeliveryFault | undefined
}

interface Rule {
  readonly fault: Fault
  struck: number
  seen: number
}

export function createFaults(random: Pick<SandboxRandom, 'die'>): SandboxFaults {
  let rules: Rule[] = []

  /** The first rule that fits and whose chance comes up. */
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
  const delivery = (stage: readonly string[], struck: Struck) =>
    strike(
      (fault) => stage.includes(fault.kind) && hits(fault as DeliveryFault, struck),
      struck.die,
    )

  return {
    list: () => rules.map(({ fault, struck }) => ({ ...fault, struck })),
    set(value) {
      const read = faultsBody.safeParse(Array.isArray(value) ? { faults: value } : value)
      if (!read.success) return fieldErrors(read.error.issues)
      rules = read.data.faults.map(({ struck: _, ...fault }) => ({ fault, struck: 0, seen: 0 }))
      return []
    },
    clear() {
      rules = []
    },
    forPlan: (struck) => delivery(plannedFaults, struck) as DeliveryFault | undefined,
    forAttempt: (struck) => delivery(attemptFaults, struck) as DeliveryFault | undefined,
    forApi({ method, path }): ApiFault | undefined {
      return strike(
        (fault) =>
          (apiFaults as readonly string[]).includes(fault.kind) &&
          (!('method' in fault) || fault.method === undefined || fault.method === method) &&
          (!('path' in fault) || fault.path === undefined || isUnder(path, fault.path)),
      )
    },
    dump: () => rules.map((rule) => ({ ...rule })),
    load(saved) {
      rules = saved.map((rule) => ({ ...rule }))
    },
  }
}

/** A fault of the canonical paths strikes the older ones too, for they are the same. */
function isUnder(path: string, beginning: string): boolean {
  return path.startsWith(beginning) || canonicalPath(path).startsWith(beginning)
}

function hits({ event, subscriptionId }: DeliveryFault, struck: Struck): boolean {
  if (subscriptionId !== undefined && subscriptionId !== struck.subscriptionId) return false
  return event === undefined || covers(canonicalName(event), struck.event)
}
