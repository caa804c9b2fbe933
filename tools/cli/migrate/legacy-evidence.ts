// Evidence of legacy arrivals: the entries of an inbox, and log lines of logOutcomes().
import { createReadStream, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Entry, Inbox } from '../../../src/inbox/index.ts'
import { CliError } from '../exit-code.ts'
import type { FoundInbox } from '../inbox/find-inbox.ts'
import { day } from '../moment.ts'
import type { Session } from '../session.ts'
import { outcomesIn } from './outcome-line.ts'
import { ArrivalCount, type Evidence, isLegacy } from './quiet-period.ts'

/** An inbox deletes entries with their keys, after 30 days by default. */
const defaultMemory = 30

/** Reads every entry of an inbox. */
export async function inboxEvidence(session: Session, found: FoundInbox): Promise<Evidence> {
  const { out, signal } = session
  const tally = new ArrivalCount()
  let cursor: string | undefined
  do {
    signal.throwIfAborted()
    const page = await found.inbox.find({ limit: 500, ...(cursor && { cursor }) })
    for (const entry of page.entries) {
      if (entry.source !== 'reconcile') await count(found.inbox, tally, entry)
    }
    cursor = page.cursor
    out.progress(`${tally.arrivals} entries read`)
  } while (cursor !== undefined)
  const now = session.now()
  return tally.evidence('inbox', now, watchedSince(found, now))
}

async function count(inbox: Inbox, tally: ArrivalCount, entry: Entry): Promise<void> {
  const { id, receivedAt, receivedName, erased } = entry
  const wanted = receivedName !== undefined && isLegacy(receivedName) && !erased
  const delivery = wanted ? (await inbox.get(id, { withDelivery: true }))?.delivery : undefined
  tally.add(receivedAt, receivedName, delivery?.secretId)
}

/** A file older than its oldest entry has deleted some, but none that are newer than its limit. */
function watchedSince({ file, made }: FoundInbox, now: Date): Date | undefined {
  if (file === undefined) return undefined
  const born = statSync(file).birthtimeMs
  const memory = Math.min(made?.retention?.keys ?? defaultMemory, defaultMemory)
  return born > 0 ? new Date(Math.max(born, now.getTime() - memory * day)) : undefined
}

/** Of a file that is not text, and of outcomes in another form. */
const suspicious = /[\0\uFFFD]|\boutcome\b|\brequest\.[a-z_]+/

/** Reads log files: the outcomes in each line, whatever a log shipper added to it. */
export async function logEvidence(session: Session, files: readonly string[]): Promise<Evidence> {
  const { out, signal, stdin, cwd } = session
  const tally = new ArrivalCount()
  for (const file of files) {
    const input = file === '-' ? stdin : await opened(resolve(cwd, file), file)
    const before = tally.arrivals + tally.unread
    let isSuspect = false
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      signal.throwIfAborted()
      if (suspicious.test(line)) isSuspect = true
      const { seen, unread } = outcomesIn(line)
      tally.unread += unread
      for (const { at, receivedName, secretId } of seen) {
        tally.add(at, receivedName, secretId)
        if (tally.arrivals % 10_000 === 0) out.progress(`${tally.arrivals} outcomes read`)
      }
    }
    if (!isSuspect || tally.arrivals + tally.unread > before) continue
    // What it holds may have legacy names.
    tally.unread += 1
    out.say(
      `${file} has no outcome: it may be compressed, UTF-16 or a table; pass its lines as text`,
    )
  }
  return tally.evidence('log', session.now())
}

async function opened(path: string, file: string) {
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return createReadStream(path)
  throw new CliError('LOG_MISSING', `${file} does not exist or is not a file`)
}
