// The record of who asked for a person's data: what was revealed and when, the latest first.

/** One time that masked data was shown. */
export interface Reveal {
  readonly at: string
  /** What was shown: a record's id, or the name of a list. */
  readonly what: string
  /** Who it was, where the app knows. */
  readonly by?: string
}

const most = 1000

export interface Reveals {
  record(one: Omit<Reveal, 'at'>): Reveal
  list(): readonly Reveal[]
}

/** Keeps the latest thousand; whoever needs all of them for good takes them as they happen. */
export function createReveals(now: () => Date): Reveals {
  let reveals: readonly Reveal[] = []
  return {
    record({ what, by }) {
      const one = { at: now().toISOString(), what: what.slice(0, 200), ...(by && { by }) }
      reveals = [one, ...reveals].slice(0, most)
      return one
    },
    list: () => reveals,
  }
}
