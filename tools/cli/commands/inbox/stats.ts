// inbox stats: how many entries are in which state, how far behind the handlers are, and how long
// each takes from an event's occurrence to done.
import { Option } from 'commander'
import type { HandlerLatency, InboxLatency } from '../../../../src/inbox/index.ts'
import { exitCodes } from '../../exit-code.ts'
import { entryStates } from '../../inbox/entry-states.ts'
import { withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import { paintState } from '../../inbox/print-entry.ts'
import { durationFrom, momentFrom, spanOf, stamp } from '../../moment.ts'
import { count, type Output, printable } from '../../output.ts'
import { act, declare, type Session } from '../../session.ts'

interface StatsOptions extends InboxChoice {
  readonly target: number
  readonly since?: Date
}

export const inboxStats = (session: Session) =>
  declare('stats', {
    summary: 'count entries by state and show how far behind the handlers are',
    details: [
      'Counts entries by state, and shows how far behind the handlers are. For each handler it shows the time from the occurrence of an event until its entry was done, and the share within --target: of the last 10,000 entries done since --since.',
    ],
    examples: [
      'idv-webhooks inbox stats --inbox inbox.db',
      'idv-webhooks inbox stats --inbox inbox.db --target 5m --since 7d',
    ],
  })
    .addOption(inboxOption())
    .addOption(
      new Option('--target <duration>', 'time within which an event should be done')
        .argParser(durationFrom)
        .default(60_000, '60s'),
    )
    .option(
      '--since <time>',
      'only done since: ISO 8601, or an age such as 7d (default: 24h)',
      momentFrom(session.now),
    )
    .action(act<StatsOptions>(session, (options) => run(session, options)))

async function run(session: Session, options: StatsOptions) {
  const { out } = session
  const { target, since } = options
  return withInbox(session, options, async ({ inbox }) => {
    const stats = await inbox.stats({ target, ...(since && { since }) })
    out.record({ type: 'stats', ...stats })
    for (const state of entryStates) out.data(`${paintState(out, state, 8)} ${stats[state]}`)
    const { oldestAge, lag, latency } = stats
    if (oldestAge !== undefined) out.data(`oldest   ${spanOf(oldestAge)} open`)
    out.data(`lag      ${lag === 0 ? 'none' : spanOf(lag)}`)
    if (latency) printLatency(out, latency)
    return exitCodes.ok
  })
}

function printLatency(out: Output, { target, since, handlers }: InboxLatency): void {
  if (handlers.length === 0) return
  out.data(`done since ${stamp(since)}, from the occurrence of the event:`)
  for (const one of handlers) out.data(`  ${printable(one.handler)}  ${inWords(one, target)}`)
}

function inWords({ entries, share, p50, p95, p99, longest }: HandlerLatency, target: number) {
  // Rounded down: 100 % is all of them.
  const percent = `${Math.floor(share * 1000) / 10} % within ${precise(target)}`
  const times = [`p50 ${precise(p50)}`, `p95 ${precise(p95)}`, `p99 ${precise(p99)}`]
  const of = count(entries, 'entry', 'entries')
  return [percent, ...times, `longest ${precise(longest)}`].join(', ').concat(` (${of})`)
}

const precise = (milliseconds: number) =>
  milliseconds < 1000 ? `${milliseconds} ms` : spanOf(milliseconds)
