// Several vendors on one inbox: an event is read by a receiver of the vendor that sent it, and a
// worker leaves what another vendor's receiver kept to that one's.
import { attemptSteps } from '../dispatch/handler.ts'
import { warnOnce } from '../foundation/warn.ts'
import type { EntryFailure } from '../inbox/entry.ts'
import { printable } from '../observe/observe.ts'

const ownInbox = 'Each vendor needs an inbox of its own: a file, or a `schema` on Postgres'

const warn = warnOnce()

/** The failure of an attempt at an entry that a receiver for another vendor kept. */
export function keptForAnother(keptFor: string | undefined, own: string | undefined) {
  if (keptFor === undefined || keptFor === own) return undefined
  return failure(`kept by a receiver ${of(keptFor)}, and this worker's is ${of(own)}`)
}

/**
 * The same where nothing says for whom it was kept, and the vendor's envelope is not in it: the
 * service's own events have no vendor.
 */
export function unreadHere(keptFor: string | undefined, own: string | undefined) {
  if (keptFor !== undefined || own === undefined) return undefined
  const whom = `${of(undefined)} or by an older version`
  return failure(`kept by a receiver ${whom}, and not readable as an event of ${printable(own)}`)
}

/** Warns where a started worker stops that of a receiver for another vendor. */
export function warnOfTakeover(from: string | undefined, to: string | undefined): void {
  if (from === to) return
  const stopped = `the worker of a receiver ${of(to)} has stopped that of a receiver ${of(from)}`
  warn(`${stopped} on the same inbox. ${ownInbox}`, 'ENVELOPE_INVALID')
}

/**
 * Warns where a started worker stops that of a receiver with handlers that its own lacks: what they
 * are for would be skipped. A module that is loaded again has them all, unless one was taken out.
 */
export function warnOfLostHandlers(from: readonly string[] = [], to: readonly string[] = []): void {
  const lost = from.filter((id) => !to.includes(id)).map(printable)
  if (lost.length === 0) return
  const stopped = `the worker of a receiver has stopped that of another one on the same inbox, whose handlers it lacks (${lost.slice(0, 3).join(', ')})`
  warn(
    `${stopped}. Each receiver needs an inbox of its own, or all handlers one receiver`,
    'NO_WORKER',
  )
}

function failure(why: string): EntryFailure {
  const error = `${why}. ${ownInbox}`
  warn(`an entry of the inbox was ${error}`, 'ENVELOPE_INVALID')
  return { handler: attemptSteps.vendor, code: 'ENVELOPE_INVALID', error }
}

const of = (vendor: string | undefined) =>
  vendor === undefined ? 'without a vendor' : `for ${printable(vendor)}`
