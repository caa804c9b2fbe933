// migrate status: which legacy names still arrive, and whether it is safe to reject them.
import { exitCodes } from '../../exit-code.ts'
import { type InboxChoice, inboxOption, withInbox } from '../../inbox/find-inbox.ts'
import {
  type ArrivalCount,
  inboxArrivals,
  judge,
  logArrivals,
} from '../../migrate/legacy-arrivals.ts'
import { repeated, wholeFrom } from '../../option-values.ts'
import { count, printable, stamp } from '../../output.ts'
import type { MigrationVerdict } from '../../records.ts'
import { act, declare, type Session } from '../../session.ts'

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
    .action(act(session, run))

async function run(session: Session, options: StatusOptions) {
  const { log = [], days } = options
  const logs = log.length > 0 ? [await logArrivals(session, log)] : []
  // The command needs a log or an inbox, so the inbox of the config file may be missing.
  const needsInbox = options.inbox !== undefined || logs.length === 0
  const kept = needsInbox
    ? [await withInbox(session, options, ({ inbox }) => inboxArrivals(session, inbox))]
    : []
  const sources = [...kept, ...logs]
  for (const one of sources) printArrivals(session, one)
  const verdict = judge(sources, days)
  const { out } = session
  out.record({ type: 'status', days, ...verdict })
  const isEmpty = sources.every(({ arrivals }) => arrivals === 0)
  if (verdict.safe) {
    const quiet = count(verdict.quietDays, 'day')
    out.data(
      `${out.paint('green', 'safe')}  set legacy: 'reject': no legacy name on the last ${quiet} with events`,
    )
    return exitCodes.ok
  }
  out.data(`${out.paint('yellow', 'wait')}  ${isEmpty ? noEvent : whyWait(verdict, days)}`)
  return exitCodes.failed
}

function printArrivals({ out }: Session, { source, arrivals, legacy, days, unread }: ArrivalCount) {
  out.record({ type: 'evidence', source, arrivals, days: days.size, unread })
  const seen = legacy.reduce((sum, one) => sum + one.arrivals, 0)
  const during = count(days.size, 'day')
  out.say(`${source}: ${count(seen, 'legacy arrival')} of ${arrivals}, events on ${during}`)
  if (unread > 0) {
    const what = count(unread, 'outcome')
    out.say(`${source}: ${what} could not be read: the line is truncated or changed`)
  }
  const width = Math.max(0, ...legacy.map(({ receivedName }) => receivedName.length))
  for (const one of legacy) {
    out.record({ type: 'legacy', source, ...one })
    const { receivedName, secretId, lastSeen } = one
    const name = printable(receivedName).padEnd(width)
    const secret = secretId === undefined ? '' : `  secret ${printable(secretId)}`
    const many = `${one.arrivals}×`.padStart(6)
    out.data(`${name}  ${many}  last ${stamp(lastSeen)}  in the ${source}${secret}`)
  }
}

const noEvent = 'no event arrived at all, which proves nothing'

function whyWait({ quietDays, lastSeen, unread }: MigrationVerdict, days: number): string {
  if (quietDays >= days) {
    return `${count(unread, 'outcome')} could not be read and may have a legacy name`
  }
  const quiet = count(quietDays, 'day')
  return lastSeen
    ? `last legacy name ${stamp(lastSeen)}; since then events on ${quiet} of ${days} required`
    : `no legacy name, but events on only ${quiet} of ${days} required`
}
