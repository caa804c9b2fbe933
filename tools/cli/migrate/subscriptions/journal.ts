// The journal of a migration of subscriptions: which replacement belongs to which old subscription.
// It lets a later run continue or roll back, and holds no signing secret.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { CliError } from '../../exit-code.ts'
import { assertOwn, writeWhole } from '../../write-file.ts'
import type { Subscription } from './plan.ts'

/** An old subscription and its replacement; a narrowed subscription is its own replacement. */
export interface Pair {
  readonly old: Omit<Subscription, 'secret'>
  /** Missing until the service has confirmed its creation. */
  readonly replacement?: string
  /** The filters of a replacement that existed before: a rollback restores them and keeps it. */
  readonly existing?: readonly string[]
  /** The replacement has run without the old one, so it alone carried the events of that time. */
  readonly alone?: true
  /**
   * The restored old one was asked for, without an answer yet: the subscriptions of its address that
   * were there before.
   */
  readonly restoring?: readonly string[]
}

/** Addresses may have a user and a password, or a token. */
const mode = 0o600

/** A journal in use: every change is written at once. */
export interface Journal {
  readonly pairs: readonly Pair[]
  /** Sets the pair of an old subscription, as the latest; in place of that of `of`, in one write. */
  set(pair: Pair, of?: string): void
  /** Removes the pair of an old subscription. */
  delete(id: string): void
}

/** The ids of the old subscriptions and of their replacements. */
export function notedIds({ pairs }: Pick<Journal, 'pairs'>): ReadonlySet<string> {
  return new Set(pairs.flatMap(({ old, replacement }) => [old.id, replacement ?? old.id]))
}

/** Removes the signing secret, which a journal never holds. */
export function withoutSecret({ secret: _, ...subscription }: Subscription): Pair['old'] {
  return subscription
}

/**
 * Opens the journal of a service; a missing file is an empty journal.
 *
 * @throws CliError `JOURNAL_INVALID`, `FILE_INVALID` where it is of somebody else
 */
export function openJournal(file: string, service: string): Journal {
  assertOwn(file)
  let pairs = readPairs(file, service)
  const save = (changed: readonly Pair[]) => {
    pairs = changed
    if (pairs.length === 0) rmSync(file, { force: true })
    else
      writeWhole(file, `${JSON.stringify({ version: 1, service, pairs }, null, 2)}\n`, {
        mode,
        isPrivate: true,
      })
  }
  const others = (...ids: readonly string[]) => pairs.filter(({ old }) => !ids.includes(old.id))
  return {
    get pairs() {
      return pairs
    },
    set: (pair, of = pair.old.id) => save([...others(of, pair.old.id), pair]),
    delete: (id) => save(others(id)),
  }
}

interface JournalFile {
  readonly version?: unknown
  readonly service?: unknown
  readonly pairs?: unknown
}

function readPairs(file: string, service: string): readonly Pair[] {
  if (!existsSync(file)) return []
  let json: JournalFile | null = null
  try {
    json = JSON.parse(readFileSync(file, 'utf8')) as JournalFile | null
  } catch {
    // Reported below, with every other file that is not a journal.
  }
  if (json?.version !== 1 || !Array.isArray(json.pairs)) {
    throw new CliError('JOURNAL_INVALID', `${file} is not a journal of this command`)
  }
  if (json.service !== service) {
    const message = `${file} belongs to ${json.service}: choose another file with --journal`
    throw new CliError('JOURNAL_INVALID', message)
  }
  return json.pairs as readonly Pair[]
}
