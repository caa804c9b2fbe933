// Injected faults: rules as data, counted or by chance, for deliveries and for the API. This file
// decides when a fault is applied; the place where it is applied carries it out.
import { canonicalName, covers, type EventName } from '../../src/protocol/names.ts'
import { checked } from './exchange.ts'
import { canonicalPath } from './paths.ts'
import type { SeededRandom } from './random.ts'
import {
  type ApiFault,
  type AttemptFault,
  type Fault,
  type FaultsByStage,
  faultsBody,
  isOfStage,
  type PlannedFault,
} from './schemas/faults.ts'
import type { Snapshot } from './schemas/snapshot.ts'

export interface DeliveryTarget {
  readonly subscriptionId: string
  readonly event: EventName
  /** Names the die, so that chance does not depend on the order of answers. */
  readonly die: string
}

type Rule = Snapshot['faults'][number]

export class FaultRules {
  readonly #random: SeededRandom
  readonly #onChange: () => void
  #rules: Rule[] = []

  constructor(random: SeededRandom, onChange: () => void) {
    this.#random = random
    this.#onChange = onChange
  }

  /** Lists the faults, each with how often it has struck. */
  list(): Fault[] {
    return this.#rules.map(({ fault, struck }) => ({ ...fault, struck }))
  }

  /**
   * Replaces all.
   *
   * @throws WebhookError `OPTION_INVALID` with every field that is wrong
   */
  set(faults: readonly Fault[]): void {
    const read = checked(faultsBody, { faults }, 'request body')
    this.#replace(read.faults.map(({ struck: _, ...fault }) => ({ fault, struck: 0, seen: 0 })))
  }

  clear(): void {
    this.#replace([])
  }

  /** The fault that a delivery meets as it is planned, or as it is attempted; counts it. */
  forDelivery<Stage extends 'plan' | 'attempt'>(stage: Stage, target: DeliveryTarget) {
    return this.#strike(stage, (fault) => matches(fault, target), target.die)
  }

  /** The fault that the next API request meets; counts it. */
  forApi(request: { readonly method: string; readonly path: string }): ApiFault | undefined {
    return this.#strike(
      'api',
      ({ method, path }) =>
        (method === undefined || method === request.method) &&
        // A fault of the canonical paths also applies to the legacy paths, which are the same
        // endpoints.
        (path === undefined ||
          [request.path, canonicalPath(request.path)].some((one) => one.startsWith(path))),
    )
  }

  dump(): Rule[] {
    return this.#rules.map((rule) => ({ ...rule }))
  }

  load(saved: readonly Rule[]): void {
    this.#rules = saved.map((rule) => ({ ...rule }))
  }

  #replace(rules: Rule[]): void {
    this.#rules = rules
    this.#onChange()
  }

  /** The first rule of a stage that matches and whose chance comes up. */
  #strike<Stage extends keyof FaultsByStage>(
    stage: Stage,
    fits: (fault: FaultsByStage[Stage]) => boolean,
    die?: string,
  ): FaultsByStage[Stage] | undefined {
    for (const [at, rule] of this.#rules.entries()) {
      const { fault } = rule
      if (!isOfStage(fault, stage) || !fits(fault)) continue
      if (fault.times !== undefined && rule.struck >= fault.times) continue
      rule.seen += 1
      // A die that misses also changes the following ones.
      this.#onChange()
      const chance = this.#random.die(`fault ${at} ${die ?? rule.seen}`)
      if (fault.probability !== undefined && chance >= fault.probability) continue
      rule.struck += 1
      return fault
    }
    return undefined
  }
}

function matches(
  { event, subscriptionId }: PlannedFault | AttemptFault,
  target: DeliveryTarget,
): boolean {
  if (subscriptionId !== undefined && subscriptionId !== target.subscriptionId) return false
  return event === undefined || covers(canonicalName(event), target.event)
}
