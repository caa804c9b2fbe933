// What a migration of subscriptions has done so far, so that it can go on later or be taken back.
// It holds no secret.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { CliError } from '../../exit-code.ts'
import { writeWhole } from '../../write-file.ts'
import type { Subscription } from './plan.ts'

/** What a replacement was before it became one, where this program has not made it. */
export interface Adopted {
  readonly events: readonly string[]
  /** Ids of what it had delivered by then: these prove nothing. */
  readonly deliveries: readonly string[]
}

/** An old subscription and what has replaced it; a narrowed one is its own replacement. */
export interface Pair {
  readonly old: Omit<Subscription, 'secret'>
  readonly replacement: string
  readonly step: 'created' | 'dropped' | 'narrowed'
  readonly adopted?: Adopted
}

/** The pairs of one service. */
export interface Journal {
  readonly version: 1
  readonly service: string
  readonly pairs: readonly Pair[]
}

/** Begins a pair. */
export function toPair(subscription: Subscription, rest: Omit<Pair, 'old'>): Pair {
  const { secret: _, ...old } = subscription
  return { old, ...rest }
}

/** Reads a journal; without a file nothing was done yet. */
export function readJournal(file: string, service: string): Journal {
  if (!existsSync(file)) return { version: 1, service, pairs: [] }
  let json: Journal | undefined
  try {
    json = JSON.parse(readFileSync(file, 'utf8')) as Journal
  } catch {
    json = undefined
  }
  if (json?.version !== 1 || !Array.isArray(json.pairs)) {
    throw new CliError('JOURNAL_INVALID', `${file} is no journal of this program`)
  }
  if (json.service !== service) {
    throw new CliError(
      'JOURNAL_INVALID',
      `${file} is of ${json.service}: give another file with --journal`,
    )
  }
  return json
}

/** Keeps a journal; one without pairs needs no file. */
export function writeJournal(file: string, journal: Journal): void {
  if (journal.pairs.length === 0) rmSync(file, { force: true })
  else writeWhole(file, `${JSON.stringify(journal, null, 2)}\n`)
}
