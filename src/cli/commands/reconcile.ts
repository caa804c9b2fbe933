// reconcile: finds the events that never came, by the service's API, and puts them into the inbox.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import {
  type ApiClient,
  createClient,
  type ReconcileReport,
  reconcile as reconcileInbox,
} from '../../client/index.ts'
import { createReceiver } from '../../index.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { type FoundInbox, withInbox } from '../inbox/find-inbox.ts'
import { momentFrom } from '../moment.ts'
import { count } from '../output.ts'
import { act, addressFrom, declare, type Session, wholeFrom } from '../session.ts'
import { watermarkFile } from '../watermark-file.ts'

interface Options {
  readonly baseUrl?: string
  readonly inbox?: string
  readonly since?: Date
  readonly until?: Date
  readonly watermark?: string
  readonly rate?: number
  readonly dryRun?: boolean
  readonly createInbox?: boolean
}

export const reconcile = (session: Session) =>
  declare('reconcile', {
    summary: 'find events that never came, and put them into the inbox',
    details: [
      'Reads verifications and clients from the API (key: IDV_API_KEY), derives the events that must have happened, and puts those that the inbox has not seen into it; the application’s worker handles them. A delivery that comes late is a duplicate then, and a second run finds nothing.',
      'A SQLite inbox has one owner: stop the application for the run, or run createReconciler() inside it. The config file may give `inbox` and `client` as made by createInbox() and createClient().',
      'A watermark belongs to one inbox: after a backup of the inbox was restored, run once with --since before the backup and without --watermark.',
      'A run that is killed begins the next time where it had begun, and finds there what it has fed. Exits 0 when nothing is missing any more, 1 when something still is.',
    ],
    examples: [
      'idv-webhooks reconcile --base-url https://api.example.com/v2/api --inbox inbox.db --since 2026-03-01 --dry-run',
      'idv-webhooks reconcile --inbox inbox.db --since 2026-03-01 --watermark reconcile.json',
    ],
  })
    .option('--base-url <url>', 'the API, ending in /v2/api', addressFrom)
    .option('--inbox <file>', 'the SQLite file of the inbox')
    .option(
      '--since <time>',
      'where to begin, unless the watermark tells: ISO 8601, or 12h or 7d ago',
      momentFrom(session.now),
    )
    .option('--until <time>', 'leave out what changed later: the same', momentFrom(session.now))
    .option('--watermark <file>', 'begin where the last whole run ended, and note the end here')
    .option(
      '--rate <n>',
      'at most so many requests a minute; the plan’s 200 by default',
      wholeFrom(1),
    )
    .option('--dry-run', 'count what is missing and change nothing')
    .option('--create-inbox', 'begin a new inbox where the file does not exist yet')
    .action(act<Options>(session, (options) => run(session, options)))

async function run(session: Session, options: Options) {
  const client = clientOf(session, options)
  checkInboxFile(session, options)
  return withInbox(session, { ...options, mode: 'owner' }, (found) =>
    reconcileWith(session, options, { client, ...found }),
  )
}

async function reconcileWith(
  session: Session,
  { since, until, watermark, dryRun = false }: Options,
  { client, inbox }: FoundInbox & { readonly client: ApiClient },
) {
  const { out, signal, now } = session
  // Nothing is verified here, so this secret proves nothing.
  const receiver = createReceiver({ secret: crypto.randomUUID(), inbox, observe: () => {} })
  const report = await reconcileInbox({
    client,
    receiver,
    signal,
    now,
    dryRun,
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(watermark !== undefined && { watermark: watermarkFile(session, watermark) }),
    onProgress: (at) => {
      out.progress(`${at.stream}: ${count(at.read, 'record')} read, ${at.missing} missing`)
      out.record({ type: 'progress', ...at })
    },
  })
  tell(session, report)
  return report.complete ? exitCodes.ok : exitCodes.failed
}

/** In a new file everything looks missing, so a slip of the pen would feed all of it there. */
function checkInboxFile({ config, cwd }: Session, { inbox, createInbox, dryRun }: Options): void {
  const file = inbox ?? config.values.inbox
  if (typeof file !== 'string' || existsSync(resolve(cwd, file))) return
  const missing = `there is no inbox at ${file}: correct it`
  if (dryRun) throw new CliError('INBOX_MISSING', `${missing}; a dry run creates none`)
  if (createInbox) return
  throw new CliError('INBOX_MISSING', `${missing}, or begin a new one with --create-inbox`)
}

function clientOf({ config, env }: Session, { baseUrl, rate }: Options): ApiClient {
  const given = config.values.client as Partial<ApiClient> | undefined
  if (given?.verifications && given.clients && baseUrl === undefined) return given as ApiClient
  if (baseUrl === undefined) throw new CliError('USAGE', 'error: say where: --base-url <url>')
  if (!env.IDV_API_KEY) throw new CliError('API_KEY_MISSING', 'no API key: set IDV_API_KEY')
  return createClient({
    baseUrl,
    apiKey: env.IDV_API_KEY,
    ...(rate !== undefined && { limiter: rate }),
  })
}

function tell({ out }: Session, report: ReconcileReport): void {
  const { read, events, gap, failures, unreadable, unseen, dryRun } = report
  out.record({ type: 'report', ...report })
  const records = `${count(read.verifications, 'verification')}, ${count(read.clients, 'client')}`
  out.data(`read     ${records}`)
  out.data(`events   ${events.derived} must have happened, ${events.present} had come`)
  const names = Object.entries(gap.byName).map(([name, many]) => `${many} ${name}`)
  out.data(`missing  ${[events.missing, ...names].join(', ')}`)
  if (gap.oldest) out.data(`gap      ${gap.oldest} to ${gap.newest}`)
  if (!dryRun) out.data(`fed      ${events.fed}; ${events.arrived} came meanwhile`)
  for (const { name, id, code } of failures) out.say(`failed   ${name} ${id}: ${code}`)
  for (const { type, id } of unreadable.records)
    out.say(`unread   ${type} ${id}: no readable times`)
  out.say('The API does not show, so no run can find:')
  for (const line of unseen) out.say(`  ${line}`)
}
