// migrate subscriptions: the plan for an export, and the migration of a sandbox's subscriptions.

import { existsSync, readFileSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  type EventSubscription,
  type MigrationJournal,
  migrateSubscriptions,
  type PlannedSubscription,
  type SubscriptionPair,
  type SubscriptionStep,
} from '../../../../src/client/index.ts'
import { parseJson } from '../../../../src/foundation/json.ts'
import { CliError, exitCodes, usageError } from '../../exit-code.ts'
import { readText, writeWhole } from '../../files.ts'
import { count, printable, withoutUser } from '../../output.ts'
import { act, declare, type Session } from '../../session.ts'

interface ApplyOptions {
  readonly apply?: boolean
  readonly rollback?: boolean
  readonly journal: string
}

export const subscriptionsCommand = (session: Session) =>
  declare('subscriptions', {
    summary: 'replace subscriptions that have legacy filters',
    details: [
      'Reads subscriptions from a JSON export or from a sandbox, and prints what replaces each one with legacy filters. On a sandbox, --apply takes the next safe step for each: the first run creates replacements, and later runs delete each old subscription whose replacement has delivered and whose own deliveries are not being retried. --rollback restores the old subscriptions. For another service, call migrateSubscriptions() of idv-webhooks/client with its API.',
      'While both subscriptions run, every renamed event arrives twice, with two names and two ids. An inbox treats the second as a duplicate; without an inbox, handlers run twice.',
    ],
    examples: [
      'migrate subscriptions http://localhost:4747 --apply',
      'migrate subscriptions http://localhost:4747 --rollback',
    ],
  })
    .argument('<source>', 'a JSON export, - for stdin, or the address of a sandbox')
    .option('--apply', 'take the next safe step')
    .option('--rollback', 'restore the old subscriptions')
    .option('--journal <file>', 'records what was done', 'idv-webhooks.subscriptions.json')
    .action(act(session, run))

async function run(session: Session, options: ApplyOptions, [source = '']: readonly string[]) {
  const { apply, rollback } = options
  if (apply && rollback) throw usageError('use --apply or --rollback, not both')
  const isSandbox = /^https?:\/\//.test(source)
  if (!isSandbox && (apply || rollback)) {
    throw usageError('an export can only be planned: pass the address of a sandbox')
  }
  const { hasDelivered, isSettled, ...api } = isSandbox
    ? sandboxApi(source)
    : await exportApi(session, source)
  if (!apply && !rollback) return showPlan(session, (await migrateSubscriptions(api)).plan)
  const file = resolve(session.cwd, options.journal)
  if (rollback && !existsSync(file)) {
    const message = `${file} does not exist, so it is unknown what to roll back: pass the journal of --apply with --journal`
    throw new CliError('JOURNAL_MISSING', message)
  }
  // Ctrl-C waits for the change in progress.
  session.ending.waits = true
  const { steps } = await migrateSubscriptions(api, {
    action: apply ? 'apply' : 'rollback',
    journal: journalOf(file),
    hasDelivered,
    isSettled,
    onStep: (step) => showStep(session, step),
    signal: session.signal,
  })
  const waiting = steps.filter(({ did }) => did === 'waiting').length
  session.out.record({ type: 'summary', steps: steps.length, waiting })
  if (steps.some(({ did }) => did === 'created')) {
    session.out.say('let both run, then run this again to delete the old ones')
  }
  if (steps.length === 0) session.out.say('nothing to do')
  return waiting > 0 ? exitCodes.failed : exitCodes.ok
}

async function exportApi(session: Session, source: string) {
  const invalid = (why: string) => new CliError('EXPORT_INVALID', `${source} ${why}`)
  const json = parseJson(await readText(session, source))
  if (!json) throw invalid('is not JSON')
  const { data, subscriptions } = Object(json.value)
  const rows = [json.value, data, subscriptions].find(Array.isArray)
  if (!rows?.every(isSubscription)) {
    throw invalid('has no list of subscriptions: [{ id, url, events }, …], or it under data')
  }
  const refuse = () => Promise.reject(invalid('can only be planned'))
  const none = { hasDelivered: undefined, isSettled: undefined }
  return { list: () => rows, create: refuse, remove: refuse, ...none }
}

function isSubscription(row: Partial<EventSubscription> | null): row is EventSubscription {
  const { id, url, events } = row ?? {}
  const isText = (value: unknown) => typeof value === 'string'
  return isText(id) && isText(url) && Array.isArray(events) && events.every(isText)
}

function sandboxApi(address: string) {
  const base = `${address.replace(/\/+$/, '').replace(/\/(v2\/api|_sandbox)$/, '')}/_sandbox`
  const call = async <Answer>(method: string, path: string, body?: unknown) =>
    (await request(method, `${base}${path}`, body)) as Answer
  const hasDeliveries = async (subscriptionId: string, status: string) => {
    const query = new URLSearchParams({ subscriptionId, status })
    const { data } = await call<{ readonly data: object[] }>('GET', `/deliveries?${query}`)
    return data.length > 0
  }
  return {
    async list() {
      const path = '/subscriptions?reveal=true'
      return (await call<{ readonly data: EventSubscription[] }>('GET', path)).data
    },
    create: (input: Omit<EventSubscription, 'id'>) =>
      call<EventSubscription>('POST', '/subscriptions', input),
    remove: (id: string) => call('DELETE', `/subscriptions/${encodeURIComponent(id)}`),
    hasDelivered: (id: string) => hasDeliveries(id, 'delivered'),
    isSettled: async (id: string) =>
      !(await hasDeliveries(id, 'pending')) && !(await hasDeliveries(id, 'held')),
  }
}

async function request(method: string, url: string, body: unknown): Promise<unknown> {
  const headers = { 'content-type': 'application/json' }
  const init = body !== undefined && { body: JSON.stringify(body), headers }
  const signal = AbortSignal.timeout(30_000)
  const response = await fetch(url, { method, ...init, signal }).catch(() => undefined)
  const answer: unknown = await response?.json().catch(() => undefined)
  if (response?.ok && typeof answer === 'object') return answer
  const got = response ? `the response is ${response.status}` : 'no response'
  const message = `${method} ${new URL(url).pathname}: ${got}: is a sandbox running at that address?`
  throw new CliError('SANDBOX_FAILED', message, exitCodes.failed)
}

/** The file has addresses, which may hold a user and a password. */
function journalOf(file: string): MigrationJournal {
  return {
    read() {
      if (!existsSync(file)) return []
      const pairs = parseJson(readFileSync(file, 'utf8'))?.value
      if (Array.isArray(pairs)) return pairs as readonly SubscriptionPair[]
      throw new CliError('JOURNAL_INVALID', `${file} is not a journal of this command`)
    },
    write(pairs) {
      if (pairs.length === 0) return rmSync(file, { force: true })
      const content = `${JSON.stringify(pairs, null, 2)}\n`
      writeWhole(file, content, 0o600)
    },
  }
}

function showPlan({ out }: Session, plan: readonly PlannedSubscription[]) {
  for (const { subscription, action, renamed, kept } of plan) {
    const { id, events } = subscription
    const url = withoutUser(subscription.url)
    out.record({ type: 'plan', id, url, events, action, renamed, kept })
    const list = (filters: readonly string[]) => printable(filters.join(', '))
    if (action !== 'current') {
      out.data(`${out.paint('bold', printable(id))}  ${printable(url)}  ${list(events)}`)
    }
    if (action === 'covered') out.data(`  remove its legacy names yourself: ${list(kept)} stays`)
    if (action === 'inactive') out.data('  is inactive: activate it and plan again, or delete it')
    if (action === 'replace') {
      const second = kept.length > 0 ? ` create another for ${list(kept)},` : ''
      out.data(`  1. create a subscription beside it: ${list(renamed)}`)
      out.data('  2. run both until the new one has delivered')
      out.data(`  3.${second} delete ${printable(id)} once none of its deliveries is being retried`)
    }
  }
  const legacy = plan.filter(({ action }) => action !== 'current').length
  out.record({ type: 'summary', subscriptions: plan.length, legacy })
  out.say(`${count(plan.length, 'subscription')}, ${legacy} with legacy filters`)
  return exitCodes.ok
}

function showStep({ out }: Session, step: SubscriptionStep): void {
  out.record({ type: 'step', ...step })
  const { id, did, replacement, waitsFor } = step
  const texts = {
    created: 'created a replacement beside it',
    removed: 'deleted',
    restored: 'restored',
    waiting:
      waitsFor === 'retries'
        ? 'not deleted: deliveries of it are being retried or held'
        : 'not deleted: its replacement has delivered nothing yet',
  }
  const beside = replacement === undefined ? '' : ` (${printable(replacement)})`
  out.data(`${printable(id)}  ${texts[did]}${beside}`)
}
