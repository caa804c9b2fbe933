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

/** The clock as users move it, between 1970 and 9000. */
export type SandboxClock = Pick<VirtualClock, (typeof names.clock)[number] | 'frozen'>
/** The faults as users set them. */
export type SandboxFaults = Pick<FaultRules, (typeof names.faults)[number]>
/** The subscriptions as users manage them. Invalid input throws `OPTION_INVALID`. */
export type SandboxSubscriptions = Pick<Subscriptions, (typeof names.subscriptions)[number]>
/** The deliveries as users list them and send them again. An invalid filter throws `OPTION_INVALID`. */
export interface SandboxDeliveries extends Pick<Deliveries, (typeof names.deliveries)[number]> {
  readonly subscriptions: SandboxSubscriptions
}

/** The parts of a sandbox. */
export interface SandboxCalls {
  readonly clock: SandboxClock
  readonly faults: SandboxFaults
  readonly deliveries: SandboxDeliveries
}

/** The parts with the calls of users, each checked. */
export function sandboxCalls({ clock, faults, deliveries }: SandboxCalls): SandboxCalls {
  return {
    clock: {
      ...callsOf('clock', clock),
      get frozen() {
        return clock.frozen
      },
    },
    faults: callsOf('faults', faults),
    deliveries: {
      ...callsOf('deliveries', deliveries),
      subscriptions: callsOf('subscriptions', deliveries.subscriptions),
    },
  }
}

type AnyCall = (...input: never[]) => unknown
type Calls<Place extends keyof typeof names> = Readonly<
  Record<(typeof names)[Place][number], AnyCall>
>

function callsOf<Place extends keyof typeof names, Part extends Calls<Place>>(
  place: Place,
  part: Part,
): Pick<Part, (typeof names)[Place][number]> {
  const calls = names[place].map((name: (typeof names)[Place][number]) => {
    return [name, (...input: never[]) => called(`${place}.${name}`, () => part[name](...input))]
  })
  return Object.fromEntries(calls)
}

/** @throws WebhookError `OPTION_INVALID` with every field that is wrong */
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
