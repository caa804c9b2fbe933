// reconcile: finds missed events through the service's API and puts them into the inbox.

import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  type ApiClient,
  createClient,
  type ReconcileReport,
  reconcile as reconcileInbox,
  type Watermark,
  type WatermarkStore,
} from '../../../src/client/index.ts'
import { defined } from '../../../src/foundation/defined.ts'
import { parseJson } from '../../../src/foundation/json.ts'
import type { EntryFilter } from '../../../src/inbox/index.ts'
import { createReceiver, type Observation } from '../../../src/index.ts'
import { CliError, exitCodes, usageError } from '../exit-code.ts'
import { writeWhole } from '../files.ts'
import { type FoundInbox, inboxOption, withInbox } from '../inbox/find-inbox.ts'
import { addressFrom, momentFrom, someText, wholeFrom } from '../option-values.ts'
import { count, printable } from '../output.ts'
import { act, declare, type Session } from '../session.ts'

interface ReconcileCommandOptions {
  readonly baseUrl?: string
  readonly inbox?: string
  readonly since?: Date
  readonly until?: Date
  readonly watermark?: string
  readonly rate?: number
  /** False: of none. */
  readonly tenant?: string | false
  readonly newTenant?: boolean
  readonly dryRun?: boolean
}

export const reconcile = (session: Session) =>
  declare('reconcile', {
    details: [
      'Reads verifications and clients from the API (key: IDV_API_KEY), derives the events that must have happened, and puts those that are missing into the inbox, where the application’s worker handles them. A late delivery is then a duplicate, and a second run finds nothing.',
      'A SQLite inbox has one owner: stop the application for the run, or use createReconciler() inside it. --dry-run works beside the application. The config file may provide `inbox` and `client` from createInbox() and createClient().',
      'A watermark belongs to one inbox and one tenant. After restoring a backup of the inbox, run once with --since before the backup and without --watermark.',
      'A run that is killed starts again from the same point and skips what it has already added. Exits 0 if nothing is missing any more, 1 otherwise.',
    ],
    examples: [
      'reconcile --base-url https://api.example.com/v2/api --inbox inbox.db --since 2026-03-01 --dry-run',
      'reconcile --base-url https://api.example.com/v2/api --inbox inbox.db --since 7d --watermark reconcile.json',
    ],
  })
    .option('--base-url <url>', 'address of the API, ending in /v2/api', addressFrom)
    .addOption(inboxOption())
    .option(
      '--since <time>',
      'start of the range, unless there is a watermark: ISO 8601, or an age such as 7d',
      momentFrom(session.now),
    )
    .option('--until <time>', 'end of the range: ignore later changes', momentFrom(session.now))
    .option('--watermark <file>', 'start where the last complete run ended, and save the end here')
    .option('--rate <n>', 'maximum requests per minute (default: 200)', wholeFrom(1))
    .option('--tenant <name>', 'the tenant whose records the API key reads', someText)
    .option('--no-tenant', 'records of no tenant, in an inbox that has tenants')
    .option('--new-tenant', 'the inbox has no entry of the tenant yet')
    .option('--dry-run', 'count what is missing without changing anything')
    .action(act(session, run))

async function run(session: Session, options: ReconcileCommandOptions) {
  const client = clientOf(session, options)
  return withInbox(session, { ...options, mode: options.dryRun ? 'operator' : 'owner' }, (found) =>
    reconcileWith(session, options, { client, ...found }),
  )
}

async function reconcileWith(
  session: Session,
  options: ReconcileCommandOptions,
  { client, inbox }: FoundInbox & { readonly client: ApiClient },
) {
  const { since, until, watermark, tenant, dryRun = false } = options
  const { out, signal, now } = session
  let added = 0
  const note = (seen: Observation) => {
    if (seen.type === 'outcome' && seen.kind === 'accepted') added += 1
  }
  await checkTenant(inbox, options)
  // The command verifies nothing, and does not know which tenants have a secret.
  const receiver = createReceiver({ secret: () => undefined, inbox, observe: note })
  const running = reconcileInbox({
    client,
    receiver,
    signal,
    now,
    dryRun,
    ...defined({ since, until, tenant: tenant === false ? null : tenant }),
    ...(watermark !== undefined && { watermark: watermarkFile(session, watermark) }),
    onProgress: (at) => {
      out.progress(`${at.stream}: ${count(at.read, 'record')} read, ${at.missing} missing`)
      out.record({ type: 'progress', ...at })
    },
  })
  const report = await running.catch((error: unknown) => {
    out.record({ type: 'stopped', added })
    out.say(`stopped after ${count(added, 'event')} had been added: the next run skips them`)
    throw error
  })
  printReport(session, report)
  return report.complete ? exitCodes.ok : exitCodes.failed
}

function watermarkFile({ cwd }: Session, file: string): WatermarkStore {
  const path = resolve(cwd, file)
  return {
    read() {
      if (!existsSync(path)) return undefined
      const json = parseJson(readFileSync(path, 'utf8'))
      if (json) return json.value as Watermark
      const message = `${file} is not a watermark: delete it and pass --since`
      throw new CliError('WATERMARK_INVALID', message)
    },
    write(watermark) {
      writeWhole(path, `${JSON.stringify(watermark, null, 2)}\n`)
    },
  }
}

/** Checks the tenant's name: for a misspelt tenant every event would seem to be missing. */
async function checkTenant(
  inbox: FoundInbox['inbox'],
  { tenant, newTenant }: ReconcileCommandOptions,
) {
  if (typeof tenant !== 'string' || newTenant) return
  const has = async (query: EntryFilter) =>
    (await inbox.find({ ...query, limit: 1 })).entries.length > 0
  if ((await has({ tenant })) || !(await has({}))) return
  throw new CliError(
    'TENANT_UNKNOWN',
    `the inbox has no entry of the tenant ${printable(tenant)}: check the name, or pass --new-tenant`,
  )
}

function clientOf({ config, env }: Session, { baseUrl, rate }: ReconcileCommandOptions): ApiClient {
  const given = config.values.client as Partial<ApiClient> | undefined
  if (given?.verifications && given.clients && baseUrl === undefined) return given as ApiClient
  if (baseUrl === undefined) throw usageError('no API address given: pass --base-url <url>')
  if (!env.IDV_API_KEY) throw new CliError('API_KEY_MISSING', 'no API key given: set IDV_API_KEY')
  return createClient({ baseUrl, apiKey: env.IDV_API_KEY, ...defined({ limiter: rate }) })
}

function printReport({ out }: Session, report: ReconcileReport): void {
  const { read, events, gap, failures, unreadable, unseen, dryRun } = report
  out.record({ type: 'report', ...report })
  const records = `${count(read.verifications, 'verification')}, ${count(read.clients, 'client')}`
  out.data(`read     ${records}`)
  out.data(`events   ${events.derived} must have happened, ${events.present} arrived`)
  const names = Object.entries(gap.byName).map(([name, many]) => `${many} ${name}`)
  out.data(`missing  ${[events.missing, ...names].join(', ')}`)
  if (gap.oldest) out.data(`gap      ${gap.oldest} to ${gap.newest}`)
  if (!dryRun) out.data(`added    ${events.fed}; ${events.arrived} arrived meanwhile`)
  for (const { name, id, code } of failures) out.say(`failed   ${name} ${printable(id)}: ${code}`)
  for (const { type, id } of unreadable.records)
    out.say(`unread   ${type} ${printable(id).slice(0, 100)}: its times or its id cannot be read`)
  out.say('The API does not reveal, so no run can find:')
  for (const line of unseen) out.say(`  ${line}`)
}
