// The record of what was done in the console: who asked for a person's data, and who ran, dismissed
// or erased what. The latest first.
import { defined } from '../../src/foundation/defined.ts'
import { warnIfItThrows } from '../../src/foundation/warn.ts'
import { ConsoleRefusal } from './access.ts'

/** One action of a user of the console. */
export interface Activity {
  readonly at: string
  readonly action: 'reveal' | 'redrive' | 'replay' | 'dismiss' | 'forget'
  /** The target: a record's id, or a description of a filter. */
  readonly what: string
  /** The operator, if the app knows. */
  readonly by?: string
}

export type TellActivity = (activity: Activity) => unknown

export type ActivityLog = ReturnType<typeof createActivityLog>

interface Done extends Pick<Activity, 'action' | 'what'> {
  readonly by: string | undefined
}

export function createActivityLog(now: () => Date, tell: TellActivity = () => {}) {
  let activities: readonly Activity[] = []
  const timed = ({ action, what, by }: Done): Activity =>
    defined({ at: now().toISOString(), action, what: what.slice(0, 200), by })
  const add = (one: Activity) => {
    activities = [one, ...activities].slice(0, 1000)
  }
  return {
    /** Before a person's data is shown; throws 503 `ACTIVITY_FAILED` if `tell` fails. */
    async record(done: Done): Promise<void> {
      const one = timed(done)
      try {
        await tell(one)
      } catch {
        const message =
          'Nothing was shown, because `onActivity` could not record it: look at its log'
        throw new ConsoleRefusal(503, 'ACTIVITY_FAILED', message)
      }
      add(one)
    },
    /** After a change, which nothing takes back: if `tell` throws, that is a warning. */
    note(done: Done): void {
      const one = timed(done)
      add(one)
      warnIfItThrows('onActivity', () => tell(one))
    },
    list: () => activities,
  }
}
