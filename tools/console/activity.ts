// The record of what was done in the console: who asked for a person's data, and who ran, dismissed
// or erased what. The latest first.
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

const most = 1000

type Done = Omit<Activity, 'at'>

export interface ActivityLog {
  /**
   * Before a person's data is shown.
   *
   * @throws ConsoleRefusal 503 `ACTIVITY_FAILED` where it could not be written down
   */
  record(one: Done): Promise<Activity>
  /** After a change, which nothing takes back: what `tell` throws is a warning. */
  note(one: Done): void
  list(): readonly Activity[]
}

/**
 * Called for each activity; it may return a promise, for example when it writes the activity to a
 * log.
 */
export type TellActivity = (activity: Activity) => unknown

/** Keeps the latest thousand; `tell` hears of each as it happens. */
export function createActivityLog(now: () => Date, tell: TellActivity = () => {}): ActivityLog {
  let activities: readonly Activity[] = []
  const timed = ({ action, what, by }: Done): Activity => {
    const shown = what.slice(0, 200)
    return { at: now().toISOString(), action, what: shown, ...(by !== undefined && { by }) }
  }
  const add = (one: Activity): Activity => {
    activities = [one, ...activities].slice(0, most)
    return one
  }
  return {
    async record(done) {
      const one = timed(done)
      try {
        await tell(one)
      } catch {
        throw new ConsoleRefusal(503, 'ACTIVITY_FAILED', notRecorded)
      }
      return add(one)
    },
    note(done) {
      const one = add(timed(done))
      warnIfItThrows('onActivity', () => tell(one))
    },
    list: () => activities,
  }
}

const notRecorded = 'Nothing was shown, because `onActivity` could not record it: look at its log'
