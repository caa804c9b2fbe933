// migrate status: who still sends legacy names, and whether it is safe to refuse them.
import { exitCodes } from '../../exit-code.ts'
import { withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import {
  type Evidence,
  judge,
  type LegacyArrivals,
  type Verdict,
} from '../../migrate/exclusions.ts'
import { inboxEvidence, logEvidence } from '../../migrate/legacy-evidence.ts'
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
    summary: 'tell which legacy names still arrive, and when refusing them is safe',
    details: [
      'Reads the inbox, or lines that `observe: logOutcomes()` wrote, or both; tells each legacy name with how often it came, signed with which secret (each subscription has its own) and when last. Refusing them is safe after --days in which other events came and none of these: days (UTC) without any event do not count, and neither does a log in which outcomes cannot be read. An inbox looks back as long as it keeps keys (30 days by default), so give fewer --days where events do not come every day; and it keeps no entry for an event that came under its current name too and first: a log shows these as well.',
      'Exits 0 when it is safe, 1 when it is not.',
    ],
    examples: [
      'idv-webhooks migrate status --inbox inbox.db',
      'idv-webhooks migrate status --log webhooks.log --days 14',
    ],
  })
    .addOption(inboxOption())
    .option('--log <file>', 'lines of logOutcomes, or - for stdin; may be repeated', repeated)
    .option('--days <n>', 'how many silent days are enough', wholeFrom(1), 30)
    .action(act<StatusOptions>(session, (options) => run(session, options)))

async function run(session: Session, options: StatusOptions) {
  const { log = [], days } = options
  const logs = log.length > 0 ? [await logEvidence(session, log)] : []
  // A log alone is enough, so that an inbox of the config file need not be there.
  const wanted = options.inbox !== undefined || logs.length === 0
  const kept = wanted
    ? [await withInbox(session, options, (found) => inboxEvidence(session, found))]
    : []
  const evidence = [...kept, ...logs]
  for (const one of evidence) tellEvidence(session, one)
  const verdict = judge(evidence, days)
  tellVerdict(session, verdict, { days, evidence })
  return verdict.safe ? exitCodes.ok : exitCodes.failed
}

function tellEvidence({ out }: Session, evidence: Evidence): void {
  const { source, watched, arrivals, legacy, days, unread } = evidence
  out.record({ type: 'evidence', source, arrivals, days: days.size, unread, ...watched })
  const seen = count(
    legacy.reduce((all, one) => all + one.arrivals, 0),
    'legacy arrival',
  )
  const span = watched ? `, ${stamp(watched.since)} to ${stamp(watched.until)}` : ''
  const during = watched ? `, events in ${count(days.size, 'day')}` : ''
  out.say(`${source}: ${seen} of ${arrivals}${span}${during}`)
  if (unread > 0) {
    out.say(
      `${source}: ${count(unread, 'line is', 'lines are')} of outcomes and cannot be read: cut off, or changed on the way`,
    )
  }
  const width = Math.max(0, ...legacy.map(({ receivedName }) => receivedName.length))
  for (const one of legacy) {
    out.record({ type: 'legacy', source, ...one })
    out.data(legacyLine(one, width))
  }
}

function legacyLine({ receivedName, secretId, arrivals, lastSeen }: LegacyArrivals, width: number) {
  const columns = [
    printable(receivedName).padEnd(width),
    `${arrivals}×`.padStart(6),
    `last ${stamp(lastSeen)}`,
    secretId === undefined ? '' : `secret ${printable(secretId)}`,
  ]
  return columns.join('  ').trimEnd()
}

function tellVerdict(
  { out }: Session,
  { safe, silentDays, lastSeen, unread }: Verdict,
  { days, evidence }: { readonly days: number; readonly evidence: readonly Evidence[] },
): void {
  out.record({ type: 'status', safe, silentDays, days, unread, ...(lastSeen && { lastSeen }) })
  if (safe) {
    out.data(
      `${out.paint('green', 'safe')}  to set legacy: 'reject': silent for ${count(silentDays, 'day')} in which events came`,
    )
    return
  }
  const asked = `, and ${days} are asked for`
  const none = evidence.every(({ arrivals }) => arrivals === 0)
  const why = none
    ? `nothing at all has arrived, so silence proves nothing${asked}`
    : silentDays >= days
      ? `${count(unread, 'outcome')} could not be read, and may have borne a legacy name`
      : lastSeen
        ? `the last legacy name came ${stamp(lastSeen)}, events in ${count(silentDays, 'day')} since${asked}`
        : `none was seen, but events came in only ${count(silentDays, 'day')}${asked}`
  out.data(`${out.paint('yellow', 'wait')}  ${why}`)
}
