// The record of what was done in the console: who asked for a person's data, and who ran, dismissed
// or erased what. The latest first.

/** One thing that somebody did. */
export interface Activity {
  readonly at: string
  readonly action: 'reveal' | 'redrive' | 'replay' | 'dismiss' | 'forget'
  /** The target: a record's id, or a description of a filter. */
  readonly what: string
  /** The operator, if the app knows. */
  readonly by?: string
}

const most = 1000

export interface ActivityLog {
  record(one: Omit<Activity, 'at'>): Activity
  list(): readonly Activity[]
}

/** Keeps the latest thousand; `tell` hears of each as it happens. */
export function createActivityLog(
  now: () => Date,
  tell: (activity: Activity) => void = () => {},
): ActivityLog {
  let activities: readonly Activity[] = []
  return {
    record({ action, what, by }) {
      const shown = what.slice(0, 200)
      const one = { at: now().toISOString(), action, what: shown, ...(by !== undefined && { by }) }
      activities = [one, ...activities].slice(0, most)
      tell(one)
      return one
    },
    list: () => activities,
  }
}
