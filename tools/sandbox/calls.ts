// The sandbox's parts as users call them. A call is checked like the request that does the same: it
// throws if the request would be rejected.
import { invalid } from '../../src/foundation/check.ts'
import type { VirtualClock } from './clock.ts'
import type { Deliveries } from './deliveries/deliveries.ts'
import type { Subscriptions } from './deliveries/subscriptions.ts'
import type { FaultRules } from './faults.ts'
import { HttpError } from './http-error.ts'

const names = {
  clock: ['now', 'freeze', 'unfreeze', 'set', 'advance'],
  faults: ['list', 'set', 'clear'],
  subscriptions: ['list', 'get', 'create', 'update', 'remove', 'rotateSecret'],
  deliveries: ['list', 'get', 'resend', 'resendAll'],
} as const
type Named<Part extends keyof typeof names> = (typeof names)[Part][number]

/** The clock as users move it, between 1970 and 9000. */
export type SandboxClock = Pick<VirtualClock, Named<'clock'> | 'frozen'>
/** The faults as users set them. */
export type SandboxFaults = Pick<FaultRules, Named<'faults'>>
/** The subscriptions as users manage them. Invalid input throws `OPTION_INVALID`. */
export type SandboxSubscriptions = Pick<Subscriptions, Named<'subscriptions'>>
/** The deliveries as users list them and send them again. An invalid filter throws `OPTION_INVALID`. */
export interface SandboxDeliveries extends Pick<Deliveries, Named<'deliveries'>> {
  readonly subscriptions: SandboxSubscriptions
}

export function clockCalls(clock: VirtualClock): SandboxClock {
  return {
    ...callsOf('clock', clock, names.clock),
    get frozen() {
      return clock.frozen
    },
  }
}

export const faultCalls = (faults: FaultRules): SandboxFaults =>
  callsOf('faults', faults, names.faults)

export function deliveryCalls(deliveries: Deliveries): SandboxDeliveries {
  const { subscriptions } = deliveries
  return {
    ...callsOf('deliveries', deliveries, names.deliveries),
    subscriptions: callsOf('subscriptions', subscriptions, names.subscriptions),
  }
}

type AnyCall = (...input: never[]) => unknown

/** The named calls of a part, each checked. */
function callsOf<Name extends string, Part extends Readonly<Record<Name, AnyCall>>>(
  place: string,
  part: Part,
  names: readonly Name[],
): Pick<Part, Name> {
  const calls = names.map((name) => {
    return [name, (...input: never[]) => called(`${place}.${name}`, () => part[name](...input))]
  })
  return Object.fromEntries(calls)
}

/**
 * Makes a call.
 *
 * @throws WebhookError `OPTION_INVALID` with every field that is wrong
 */
export function called<Result>(name: string, call: () => Result): Result {
  const reject = (error: unknown): never => {
    if (!(error instanceof HttpError)) throw error
    const wrong = error.body.errors ?? [{ field: '', message: error.message }]
    const words = wrong.map(({ field, message }) => `${field || 'the argument'} ${message}`)
    throw invalid(`${name}: ${words.join('; ')}`)
  }
  try {
    const result = call()
    return result instanceof Promise ? (result.catch(reject) as Result) : result
  } catch (error) {
    return reject(error)
  }
}
