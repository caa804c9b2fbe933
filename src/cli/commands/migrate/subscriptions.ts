// migrate subscriptions: the plan from old filters to new ones, and its steps against a service.
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { CliError, exitCodes } from '../../exit-code.ts'
import { type Applied, applyPlan, type Step } from '../../migrate/subscriptions/apply.ts'
import { type Connection, openLedger } from '../../migrate/subscriptions/journal.ts'
import { withLock } from '../../migrate/subscriptions/lock.ts'
import {
  type Planned,
  planSubscriptions,
  readSubscriptions,
  stepsOf,
} from '../../migrate/subscriptions/plan.ts'
import { settleIntents } from '../../migrate/subscriptions/recreate.ts'
import { rollBack } from '../../migrate/subscriptions/roll-back.ts'
import { signingSecrets } from '../../migrate/subscriptions/signing-secrets.ts'
import {
  type SubscriptionService,
  subscriptionService,
} from '../../migrate/subscriptions/subscription-routes.ts'
import { count, printable } from '../../output.ts'
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
    summary: 'plan and take the way from legacy filters to current ones',
    details: [
      'Reads subscriptions from a JSON export or from a service that speaks the sandbox’s routes, and prints for each with legacy filters what replaces it, in which order. --apply takes the next safe step for every one: it creates replacements, and when called again drops each old one whose replacement has delivered, and no other. One that somebody else has made is taken for a replacement only if it has the same address, owner and secret, and counts once it has delivered again. A run that fails takes its own steps back; --rollback takes back all of them, and lets stay what it has not made. The journal file holds ids and filters, no secret.',
      'A service that does not show secrets cannot hand the old one on: the replacement then signs with the secret that you give (WEBHOOK_SECRET or --secret-file, by subscription id where they differ), or with a new one that --new-secrets keeps in a file for your receiver.',
      'While both run, every renamed event arrives twice, under two names and two ids. An inbox takes the second for a duplicate; a receiver without one runs its handlers for both.',
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
    .option('--new-secrets <file>', 'let the service draw secrets that it does not show')
    .addOption(secretFileOption())
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
    return readSubscriptions(JSON.parse(content.replace(/^\uFEFF/, '')))
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
  const { cwd } = session
  const file = resolve(cwd, options.journal)
  if (options.rollback && !existsSync(file)) {
    throw new CliError(
      'JOURNAL_MISSING',
      `there is no journal ${file}, so it is not known what to take back: give the one that --apply wrote with --journal`,
    )
  }
  const { newSecrets } = options
  const secrets = signingSecrets({
    given: await findSecrets(session, options),
    newSecrets: newSecrets === undefined ? undefined : resolve(cwd, newSecrets),
  })
  // What was begun is ended, however long the service takes: half a change would be lost sight of.
  session.ending.waits = true
  return withLock(file, async () => {
    const ledger = openLedger(file, service.url)
    tellOrphans(session, await settleIntents({ service, ledger }))
    const means = { service, ledger, secrets }
    if (options.rollback) return tell(session, options, await rollBack(means))
    const plan = planSubscriptions(await service.list())
    const applied = await applyPlan({ ...means, plan, signal: session.signal })
    if (applied.failure) throw tellFailure(session, { ...applied, ledger, file })
    return tell(session, options, applied.steps)
  })
}

/** What an earlier run created without an answer to it is ours, and not wanted. */
function tellOrphans({ out }: Session, ids: readonly string[]): void {
  for (const id of ids) {
    out.record({ type: 'step', id, did: 'removed' })
    out.data(`${printable(id)}  removed: an earlier run made it and was not told`)
  }
}

interface Failed extends Applied {
  readonly ledger: Connection
  readonly file: string
}

/** Says what was taken back and what remains, and gives the error to end with. */
function tellFailure({ out, signal }: Session, { steps, failure, ledger, file }: Failed): unknown {
  const { error, takenBack = 0 } = failure ?? {}
  const changes = steps.filter(({ did }) => did !== 'waiting').length
  const { begun } = ledger
  out.record({ type: 'taken-back', steps: takenBack, begun: begun.length })
  for (const { of, events, url } of begun) {
    out.record({ type: 'remains', of, events, url })
    out.say(
      `it is not known whether a subscription to ${printable(events.join(', '))} for ${printable(url)} was created: the next --apply or --rollback looks for it and removes it`,
    )
  }
  if (steps.length > 0) {
    const left = takenBack < steps.length ? `, ${steps.length - takenBack} could not be` : ''
    out.say(
      `${signal.aborted ? 'interrupted' : 'failed'} after ${count(changes, 'change')}: ${count(takenBack, 'step')} taken back${left}`,
    )
  }
  if (ledger.pairs.length + begun.length > 0) out.say(`what stands is in ${file}`)
  return error
}

const deeds = {
  adopted: 'has a replacement already, that somebody has made',
  created: 'created a replacement beside it',
  dropped: 'dropped; its replacement has delivered',
  gone: 'is gone already',
  kept: 'kept: it was there before',
  narrowed: 'took the legacy names out',
  waiting: 'not dropped: its replacement has delivered nothing since',
  restored: 'brought back',
  removed: 'removed',
} as const

function tell({ out }: Session, { newSecrets }: SubscriptionsOptions, steps: readonly Step[]) {
  for (const { id, did, replacement, secret } of steps) {
    out.record({
      type: 'step',
      id,
      did,
      ...(replacement !== undefined && { replacement }),
      ...(secret !== undefined && { secret }),
    })
    const color = did === 'waiting' ? 'yellow' : 'green'
    const beside = replacement === undefined ? '' : ` (${printable(replacement)})`
    out.data(`${printable(id)}  ${out.paint(color, deeds[did])}${beside}`)
    if (secret === 'given') out.say(`${printable(replacement ?? id)} signs with the secret given`)
    if (secret === 'new') {
      out.say(
        `${printable(replacement ?? id)} signs with a new secret, kept in ${newSecrets}: give it to the receiver before anything else`,
      )
    }
  }
  const many = (...kinds: readonly Step['did'][]) =>
    steps.filter(({ did }) => kinds.includes(did)).length
  out.record({ type: 'summary', steps: steps.length, waiting: many('waiting') })
  if (many('created', 'adopted') > 0) {
    out.say(
      'let both run, then call this again: it drops what is no longer needed; until then a receiver without an inbox handles each renamed event twice',
    )
  }
  if (steps.length === 0) out.say('nothing to do')
  return many('waiting') > 0 ? exitCodes.failed : exitCodes.ok
}
