// What a migration of subscriptions has done so far, so that it can go on later or be taken back:
// its pairs, and what it was about to create when it last was heard of. It holds no secret.
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
  /** `dropping` is noted before the old one goes, and stays where no answer to that came. */
  readonly step: 'created' | 'dropping' | 'dropped' | 'narrowed'
  readonly adopted?: Adopted
}

/** A creation that was begun: where its answer was lost, the service may have what nobody knows. */
export interface Intent {
  readonly of: string
  readonly url: string
  readonly events: readonly string[]
  /** The ids that were there before: what is new and fits is ours. */
  readonly before: readonly string[]
}

/** The pairs of one service. */
export interface Journal {
  readonly version: 1
  readonly service: string
  readonly pairs: readonly Pair[]
  readonly begun: readonly Intent[]
}

/** A journal in use: every change of it is kept at once. */
export interface Connection {
  readonly pairs: readonly Pair[]
  readonly begun: readonly Intent[]
  /** Sets the pair of an old subscription, the latest last; without one it is forgotten. */
  note(id: string, pair: Pair | undefined): void
  /** Notes that something is about to be created. */
  begin(intent: Intent): void
  /** It is known what became of it. */
  end(intent: Intent): void
}

/** Begins a pair. */
export function toPair(subscription: Subscription, rest: Omit<Pair, 'old'>): Pair {
  const { secret: _, ...old } = subscription
  return { old, ...rest }
}

/** Opens the journal of a service; without a file nothing was done yet. */
export function openLedger(file: string, service: string): Connection {
  let { pairs, begun } = readJournal(file, service)
  const save = () => writeJournal(file, { version: 1, service, pairs, begun })
  return {
    get pairs() {
      return pairs
    },
    get begun() {
      return begun
    },
    note(id, pair) {
      const others = pairs.filter(({ old }) => old.id !== id)
      pairs = pair ? [...others, pair] : others
      save()
    },
    begin(intent) {
      begun = [...begun, intent]
      save()
    },
    end(intent) {
      begun = begun.filter((one) => one !== intent)
      save()
    },
  }
}

function readJournal(file: string, service: string): Journal {
  if (!existsSync(file)) return { version: 1, service, pairs: [], begun: [] }
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
  return { ...json, begun: Array.isArray(json.begun) ? json.begun : [] }
}

/** One that says nothing needs no file. */
function writeJournal(file: string, journal: Journal): void {
  const isEmpty = journal.pairs.length + journal.begun.length === 0
  if (isEmpty) rmSync(file, { force: true })
  else writeWhole(file, `${JSON.stringify(journal, null, 2)}\n`)
}
