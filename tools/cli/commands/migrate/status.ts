// migrate status: which legacy names still arrive, and whether it is safe to reject them.
import { exitCodes } from '../../exit-code.ts'
import { withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import { inboxEvidence, logEvidence } from '../../migrate/legacy-evidence.ts'
import {
  type Evidence,
  judge,
  type LegacyArrivals,
  type Verdict,
} from '../../migrate/quiet-period.ts'
import { stamp } from '../../moment.ts'
import { count, printable } from '../../output.ts'
import { repeated } from '../../repeated.ts'
import { act, declare, type Session, wholeFrom } from '../../session.ts'

interface StatusOptions extends InboxChoice {
  readonly log?: readonly string[]
  readonly days: number
}

export const migrateStatus = (session: Session) =>
  declare('status', {
    summary: 'show which legacy names still arrive',
    details: [
      'Reads an inbox, or log lines written by `observe: logOutcomes()`, or both. Lists each legacy name with its number of arrivals, the secret that signed it (each subscription has its own) and its last arrival. Rejecting them is safe after --days with events and without legacy names. Days (UTC) without any event do not count, and a log with unreadable outcomes is never safe. An inbox remembers 30 days by default, so pass fewer --days if events do not arrive every day. An inbox has no entry for a legacy event that also arrived, earlier, under its current name; a log has.',
      'Exits 0 if it is safe, 1 if not.',
    ],
    examples: [
      'idv-webhooks migrate status --inbox inbox.db',
      'idv-webhooks migrate status --log webhooks.log --days 14',
    ],
  })
    .addOption(inboxOption())
    .option('--log <file>', 'log of logOutcomes(), or - for stdin; repeatable', repeated)
    .option('--days <n>', 'required number of days without legacy names', wholeFrom(1), 30)
    .action(act<StatusOptions>(session, (options) => run(session, options)))

async function run(session: Session, options: StatusOptions) {
  const { log = [], days } = options
  const logs = log.length > 0 ? [await logEvidence(session, log)] : []
  // A log alone is enough, so the inbox of the config file does not have to exist.
  const wanted = options.inbox !== undefined || logs.length === 0
  const kept = wanted
    ? [await withInbox(session, options, (found) => inboxEvidence(session, found))]
    : []
  const evidence = [...kept, ...logs]
  for (const one of evidence) printEvidence(session, one)
  const verdict = judge(evidence, days)
  printVerdict(session, verdict, { days, evidence })
  return verdict.safe ? exitCodes.ok : exitCodes.failed
}

function printEvidence({ out }: Session, evidence: Evidence): void {
  const { source, watched, arrivals, legacy, days, unread } = evidence
  out.record({ type: 'evidence', source, arrivals, days: days.size, unread, ...watched })
  const seen = count(
    legacy.reduce((all, one) => all + one.arrivals, 0),
    'legacy arrival',
  )
  const span = watched ? `, ${stamp(watched.since)} to ${stamp(watched.until)}` : ''
  const during = watched ? `, events on ${count(days.size, 'day')}` : ''
  out.say(`${source}: ${seen} of ${arrivals}${span}${during}`)
  if (unread > 0) {
    out.say(
      `${source}: ${count(unread, 'outcome')} could not be read: the line is truncated or changed`,
    )
  }
  const width = Math.max(0, ...legacy.map(({ receivedName }) => receivedName.length))
  for (const one of legacy) {
    out.record({ type: 'legacy', source, ...one })
    out.data(legacyLine(one, { width, source }))
  }
}

function legacyLine(
  { receivedName, secretId, arrivals, lastSeen }: LegacyArrivals,
  { width, source }: { readonly width: number; readonly source: Evidence['source'] },
) {
  const columns = [
    printable(receivedName).padEnd(width),
    `${arrivals}×`.padStart(6),
    `last ${stamp(lastSeen)}`,
    `in the ${source}`,
    secretId === undefined ? '' : `secret ${printable(secretId)}`,
  ]
  return columns.join('  ').trimEnd()
}

function printVerdict(
  { out }: Session,
  { safe, quietDays, lastSeen, unread }: Verdict,
  { days, evidence }: { readonly days: number; readonly evidence: readonly Evidence[] },
): void {
  out.record({ type: 'status', safe, quietDays, days, unread, ...(lastSeen && { lastSeen }) })
  if (safe) {
    out.data(
      `${out.paint('green', 'safe')}  set legacy: 'reject': no legacy name on the last ${count(quietDays, 'day')} with events`,
    )
    return
  }
  const wanted = ` of ${days} required`
  const isEmpty = evidence.every(({ arrivals }) => arrivals === 0)
  const why = isEmpty
    ? 'no event arrived at all, which proves nothing'
    : quietDays >= days
      ? `${count(unread, 'outcome')} could not be read and may have a legacy name`
      : lastSeen
        ? `last legacy name ${stamp(lastSeen)}; since then events on ${count(quietDays, 'day')}${wanted}`
        : `no legacy name, but events on only ${count(quietDays, 'day')}${wanted}`
  out.data(`${out.paint('yellow', 'wait')}  ${why}`)
}
