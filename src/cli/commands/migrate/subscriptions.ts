// migrate subscriptions: the plan from old filters to new ones, and its steps against a service.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { CliError, exitCodes } from '../../exit-code.ts'
import { applyPlan, rollBack, type Step } from '../../migrate/subscriptions/apply.ts'
import { readJournal, writeJournal } from '../../migrate/subscriptions/journal.ts'
import {
  type Planned,
  planSubscriptions,
  readSubscriptions,
  stepsOf,
} from '../../migrate/subscriptions/plan.ts'
import {
  type SubscriptionService,
  subscriptionService,
} from '../../migrate/subscriptions/subscription-routes.ts'
import { count, printable } from '../../output.ts'
import { act, declare, type Session } from '../../session.ts'

interface SubscriptionsOptions {
  readonly apply?: boolean
  readonly rollback?: boolean
  readonly journal: string
}

export const migrateSubscriptions = (session: Session) =>
  declare('subscriptions', {
    summary: 'plan and take the way from legacy filters to current ones',
    details: [
      'Reads subscriptions from a JSON export or from a service that speaks the sandbox’s routes, and prints for each with legacy filters what replaces it, in which order. --apply takes the next safe step for every one: it creates replacements, and when called again drops each old one whose replacement has delivered, and no other. A run that fails takes its own steps back; --rollback takes back all of them. The journal file holds ids and filters, no secret.',
    ],
    examples: [
      'idv-webhooks migrate subscriptions export.json',
      'idv-webhooks migrate subscriptions http://localhost:4010 --apply',
      'idv-webhooks migrate subscriptions http://localhost:4010 --rollback',
    ],
  })
    .argument('<source>', 'a JSON export, - for stdin, or the address of a service')
    .option('--apply', 'take the next safe step')
    .option('--rollback', 'bring the old subscriptions back')
    .option('--journal <file>', 'what was done so far', 'idv-webhooks.subscriptions.json')
    .action(
      act<SubscriptionsOptions>(session, (options, [source = '']) => run(session, options, source)),
    )

async function run(session: Session, options: SubscriptionsOptions, source: string) {
  const { env } = session
  const changes = options.apply || options.rollback
  if (!/^https?:\/\//.test(source)) {
    if (!changes) return showPlan(session, planSubscriptions(await readExport(session, source)))
    throw new CliError(
      'USAGE',
      'error: an export can only be planned: give the address of a service',
    )
  }
  if (options.apply && options.rollback) {
    throw new CliError('USAGE', 'error: --apply or --rollback, not both')
  }
  const service = subscriptionService({ url: source, apiKey: env.IDV_API_KEY })
  if (!changes) return showPlan(session, planSubscriptions(await service.list()))
  return change(session, options, service)
}

async function readExport(session: Session, source: string) {
  let content: string
  try {
    content =
      source === '-'
        ? await text(session.stdin)
        : readFileSync(resolve(session.cwd, source), 'utf8')
  } catch {
    throw new CliError('FILE_MISSING', `${source} cannot be read`)
  }
  try {
    return readSubscriptions(JSON.parse(content))
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError('EXPORT_INVALID', `${source} is no JSON`)
  }
}

function showPlan({ out }: Session, plan: readonly Planned[]) {
  for (const planned of plan) {
    const { subscription, action, legacy, beside, final, doubtful } = planned
    const { id, url, events } = subscription
    const steps = stepsOf(planned)
    out.record({ type: 'plan', id, url, events, action, legacy, beside, final, doubtful, steps })
    if (action !== 'current') {
      out.data(
        `${out.paint('bold', printable(id))}  ${printable(url)}  ${printable(events.join(', '))}`,
      )
      for (const [at, step] of steps.entries()) out.data(`  ${at + 1}. ${printable(step)}`)
    }
    if (doubtful.length > 0) {
      out.say(
        `${printable(id)}: ${printable(doubtful.join(', '))} is no name of the service: look at it`,
      )
    }
  }
  const old = plan.filter(({ action }) => action !== 'current').length
  out.record({ type: 'summary', subscriptions: plan.length, legacy: old })
  out.say(`${count(plan.length, 'subscription')}, ${old} with legacy filters`)
  return exitCodes.ok
}

async function change(
  session: Session,
  options: SubscriptionsOptions,
  service: SubscriptionService,
) {
  const file = resolve(session.cwd, options.journal)
  const journal = readJournal(file, service.url)
  if (options.rollback) {
    return tell(session, await rollBack(service, journal, (now) => writeJournal(file, now)))
  }
  const plan = planSubscriptions(await service.list())
  const applied = await applyPlan({ service, plan, journal, signal: session.signal })
  writeJournal(file, applied.journal)
  return tell(session, applied.steps)
}

function tell({ out }: Session, steps: readonly Step[]) {
  const words = {
    created: 'created a replacement beside it',
    dropped: 'dropped; its replacement has delivered',
    narrowed: 'took the legacy names out',
    waiting: 'not dropped: its replacement has delivered nothing yet',
    restored: 'brought back',
    removed: 'removed',
  } as const
  for (const { id, did, replacement } of steps) {
    out.record({ type: 'step', id, did, ...(replacement !== undefined && { replacement }) })
    const color = did === 'waiting' ? 'yellow' : 'green'
    const beside = replacement === undefined ? '' : ` (${printable(replacement)})`
    out.data(`${printable(id)}  ${out.paint(color, words[did])}${beside}`)
  }
  const waiting = steps.filter(({ did }) => did === 'waiting').length
  const created = steps.filter(({ did }) => did === 'created').length
  out.record({ type: 'summary', steps: steps.length, waiting })
  if (created > 0) out.say('let both run, then call this again: it drops what is no longer needed')
  if (steps.length === 0) out.say('nothing to do')
  return waiting > 0 ? exitCodes.failed : exitCodes.ok
}
