// migrate subscriptions: the plan from legacy filters to current ones, and its steps on a service.
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { defined } from '../../../../src/foundation/defined.ts'
import { CliError, exitCodes } from '../../exit-code.ts'
import { applyPlan, type Deps, listAll } from '../../migrate/subscriptions/apply.ts'
import { openJournal } from '../../migrate/subscriptions/journal.ts'
import {
  hasNextPage,
  type Planned,
  planSubscription,
  readSubscriptions,
  type Step,
  type Subscription,
  stepsOf,
} from '../../migrate/subscriptions/plan.ts'
import { findRestored, rollBack } from '../../migrate/subscriptions/roll-back.ts'
import { signingSecrets } from '../../migrate/subscriptions/signing-secrets.ts'
import {
  type SubscriptionService,
  subscriptionService,
} from '../../migrate/subscriptions/subscription-routes.ts'
import { count, printable, withoutUser } from '../../output.ts'
import { readFailure } from '../../read-failure.ts'
import { findSecrets, type SecretOptions, secretFileOption } from '../../secrets.ts'
import { act, declare, type Session } from '../../session.ts'

interface SubscriptionsOptions extends SecretOptions {
  readonly newSecrets?: string
  readonly apply?: boolean
  readonly rollback?: boolean
  readonly journal: string
}

export const migrateSubscriptions = (session: Session) =>
  declare('subscriptions', {
    summary: 'replace subscriptions that have legacy filters',
    details: [
      'Reads subscriptions from a JSON export, or from a service that has the sandbox’s subscription routes, and prints what replaces each one with legacy filters. --apply takes the next safe step for each: the first run creates replacements, and later runs delete each old subscription whose replacement has delivered and whose own deliveries have all arrived or failed for good, and no other. A run that fails can be started again. --rollback restores the old subscriptions and removes the replacements that were created. The journal file holds ids and filters but no secrets.',
      'If the service hides secrets, the replacement signs with the secret that you provide (WEBHOOK_SECRET or --secret-file, by subscription id if they differ), or with a new one that --new-secrets saves in a file for your receiver.',
      'While both subscriptions run, every renamed event arrives twice, with two names and two ids. An inbox treats the second as a duplicate; without an inbox, handlers run twice.',
    ],
    examples: [
      'idv-webhooks migrate subscriptions export.json',
      'idv-webhooks migrate subscriptions http://localhost:4747 --apply',
      'idv-webhooks migrate subscriptions http://localhost:4747 --rollback',
    ],
  })
    .argument('<source>', 'a JSON export, - for stdin, or the address of a service')
    .option('--apply', 'take the next safe step')
    .option('--rollback', 'restore the old subscriptions')
    .option('--journal <file>', 'records what was done', 'idv-webhooks.subscriptions.json')
    .option('--new-secrets <file>', 'let the service draw the secrets that it hides, saved here')
    .addOption(secretFileOption())
    .action(
      act<SubscriptionsOptions>(session, (options, [source = '']) => run(session, options, source)),
    )

async function run(session: Session, options: SubscriptionsOptions, source: string) {
  const changes = options.apply || options.rollback
  if (!/^https?:\/\//.test(source)) {
    if (!changes) return showPlan(session, await readExport(session, source))
    throw new CliError('USAGE', 'an export can only be planned: pass a service address')
  }
  if (options.apply && options.rollback) {
    throw new CliError('USAGE', 'use --apply or --rollback, not both')
  }
  const service = subscriptionService({ url: source, apiKey: session.env.IDV_API_KEY })
  if (!changes) return showPlan(session, await service.list())
  return change(session, options, service)
}

async function readExport(session: Session, source: string) {
  let content: string
  try {
    content =
      source === '-'
        ? await text(session.stdin)
        : readFileSync(resolve(session.cwd, source), 'utf8')
  } catch (error) {
    throw new CliError('FILE_MISSING', `${source} ${readFailure(error)}`)
  }
  let json: unknown
  try {
    json = JSON.parse(content.replace(/^\uFEFF/, ''))
  } catch {
    throw new CliError('EXPORT_INVALID', `${source} is not JSON`)
  }
  if (hasNextPage(json)) {
    throw new CliError('EXPORT_INVALID', `${source} is one page of several: export them all`)
  }
  return readSubscriptions(json)
}

function showPlan({ out }: Session, subscriptions: readonly Subscription[]) {
  const plan = subscriptions.map(planSubscription)
  for (const planned of plan) {
    const { subscription, action, legacy, beside, final, doubtful } = planned
    const { id, events } = subscription
    const url = withoutUser(subscription.url)
    const steps = stepsOf(planned)
    out.record({ type: 'plan', id, url, events, action, legacy, beside, final, doubtful, steps })
    if (action !== 'current') {
      const filters = printable(events.join(', '))
      out.data(`${out.paint('bold', printable(id))}  ${printable(url)}  ${filters}`)
      for (const [at, step] of steps.entries()) out.data(`  ${at + 1}. ${printable(step)}`)
    }
    if (doubtful.length > 0) {
      const names = printable(doubtful.join(', '))
      out.say(`${printable(id)}: ${names} is not an event name of the service: check it`)
    }
  }
  const old = plan.filter(({ action }: Planned) => action !== 'current').length
  out.record({ type: 'summary', subscriptions: plan.length, legacy: old })
  out.say(`${count(plan.length, 'subscription')}, ${old} with legacy filters`)
  return exitCodes.ok
}

async function change(
  session: Session,
  options: SubscriptionsOptions,
  service: SubscriptionService,
) {
  const { cwd, ending, signal } = session
  const file = resolve(cwd, options.journal)
  if (options.rollback && !existsSync(file)) {
    throw new CliError(
      'JOURNAL_MISSING',
      `${file} does not exist, so it is unknown what to roll back: pass the journal of --apply with --journal`,
    )
  }
  const newSecrets = options.newSecrets && resolve(cwd, options.newSecrets)
  const secrets = signingSecrets({ given: await findSecrets(session, options), newSecrets })
  const deps: Deps = { service, journal: openJournal(file, service.url), secrets, signal }
  // Ctrl-C waits for the change in progress: an unanswered request would leave it unknown.
  ending.waits = true
  const steps: Step[] = []
  try {
    for await (const step of takeSteps(deps, options)) {
      steps.push(step)
      reportStep(session, options, step)
    }
  } catch (error) {
    reportStopped(session, deps, steps.length)
    throw error
  }
  return reportEnd(session, steps)
}

async function* takeSteps(deps: Deps, { rollback }: SubscriptionsOptions): AsyncGenerator<Step> {
  const listed = await listAll(deps)
  yield* findRestored(deps, listed)
  yield* rollback ? rollBack(deps, listed) : applyPlan(deps, listed.map(planSubscription))
}

const actions = {
  created: 'created a replacement beside it',
  dropped: 'deleted; its replacement has delivered',
  found: 'has an equivalent subscription already',
  gone: 'no longer exists',
  kept: 'kept, because it existed before',
  narrowed: 'removed its legacy names',
  waiting: 'not deleted: its replacement has delivered nothing yet',
  restored: 'restored',
  removed: 'removed',
} as const

function reportStep({ out }: Session, { newSecrets }: SubscriptionsOptions, step: Step): void {
  const { id, did, replacement, secret } = step
  out.record({ type: 'step', ...defined(step) })
  const color = did === 'waiting' ? 'yellow' : 'green'
  const beside = replacement === undefined ? '' : ` (${printable(replacement)})`
  out.data(`${printable(id)}  ${out.paint(color, waitsFor(step) ?? actions[did])}${beside}`)
  const created = printable(replacement ?? id)
  if (secret === 'given') out.say(`${created} signs with the secret that you provided`)
  if (secret === 'new') {
    out.say(
      `${created} signs with a new secret, saved in ${newSecrets}: add it to the receiver before the first delivery`,
    )
  }
}

/** The deliveries that keep a subscription from being deleted, and what to do. */
function waitsFor({ undelivered, inactive }: Step): string | undefined {
  if (undelivered === undefined) return undefined
  const deliveries = `not deleted: ${count(undelivered, 'delivery', 'deliveries')} of it`
  return inactive
    ? `${deliveries} would be lost, because it is inactive: activate it, then run this again`
    : `${deliveries} ${undelivered === 1 ? 'is' : 'are'} still being retried: run this again later`
}

/** Reports a failed run: every step is in the journal, and the next run continues. */
function reportStopped({ out, signal }: Session, { journal }: Deps, steps: number): void {
  for (const { old, replacement, restoring } of journal.pairs) {
    if (replacement !== undefined && !restoring) continue
    out.record({ type: 'unconfirmed', of: old.id, url: withoutUser(old.url) })
    const what = restoring
      ? `${printable(old.id)} was restored`
      : `a replacement for ${printable(old.id)} was created`
    out.say(`unknown whether ${what}: the next run looks for it before it creates one`)
  }
  if (steps === 0) return
  const how = signal.aborted ? 'interrupted' : 'failed'
  out.say(
    `${how} after ${count(steps, 'step')}: run this again to continue, or --rollback to undo them`,
  )
}

function reportEnd({ out }: Session, steps: readonly Step[]) {
  const waiting = steps.filter(({ did }) => did === 'waiting').length
  out.record({ type: 'summary', steps: steps.length, waiting })
  if (steps.some(({ did }) => did === 'created' || did === 'found')) {
    out.say(
      'let both run, then run this again to delete the old ones; until then, a receiver without an inbox handles each renamed event twice',
    )
  }
  if (steps.length === 0) out.say('nothing to do')
  return waiting > 0 ? exitCodes.failed : exitCodes.ok
}
