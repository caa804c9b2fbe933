// capture: a recording proxy. Its files hold no personal data unless --raw is confirmed.
import { once } from 'node:events'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { reasonOf } from '../../../src/errors.ts'
import { defined } from '../../../src/foundation/defined.ts'
import { schemes, verify } from '../../../src/index.ts'
import { eventNames, legacyNames } from '../../../src/protocol/index.ts'
import { capture as toCapture } from '../../../src/testing/index.ts'
import { type DeliveryAnswer, fieldsIn, outcomeOf } from '../deliver.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { writeNew } from '../files.ts'
import { hintFor } from '../hints.ts'
import { addressFrom, timeoutOption, wholeFrom } from '../option-values.ts'
import { count, printable } from '../output.ts'
import { type RecordedRequest, startRecorder } from '../recorder.ts'
import { chosenSender, type SchemeChoice, schemeOption } from '../schemes.ts'
import {
  findSecrets,
  type NamedSecret,
  type SecretOptions,
  secretFileOption,
  secretsFor,
} from '../secrets.ts'
import { act, declare, needConsent, type Session } from '../session.ts'

interface CaptureCommandOptions extends SecretOptions, SchemeChoice {
  readonly port: number
  readonly host: string
  readonly to?: string
  readonly dir: string
  readonly raw?: boolean
  readonly yes?: boolean
  readonly count?: number
  readonly status: number
  readonly maxBytes: number
  readonly timeout: number
}

const rawWarning = '--raw saves names, addresses and documents of real people in plain files'

export const capture = (session: Session) =>
  declare('capture', {
    details: [
      'Listens, saves every delivery as a file, and forwards it unchanged to your app. Personal data is masked in the file, and the masked bytes are signed again with the public test secret. A delivery that does not verify with your secret is not signed again: its file says so. --raw saves the exact bytes, which discover needs, and asks for confirmation (--yes).',
      'With --to, a bare host (http://localhost:3000) gets each delivery at the path that the sender called; an address with a path gets all of them there. The query is kept either way, and the response of the app is returned unchanged. Exits 1 if a delivery could not be saved.',
    ],
    examples: [
      'capture --port 4000 --to http://localhost:3000/webhooks',
      'capture --raw --yes --count 2 --dir private-captures',
    ],
  })
    .option('--port <port>', 'port to listen on; 0 picks a free one', wholeFrom(0, 65535), 4000)
    .option('--host <host>', 'address to listen on', '127.0.0.1')
    .option('--to <url>', 'forward every delivery to your app and return its response', addressFrom)
    .option('--dir <dir>', 'folder for the files', 'captures')
    .option('--raw', 'save deliveries unchanged, with personal data')
    .option('--yes', 'skip the confirmation prompt of --raw')
    .option('--count <n>', 'stop after this many deliveries', wholeFrom(1))
    .option('--status <status>', 'response status without --to', wholeFrom(200, 599), 200)
    .option('--max-bytes <n>', 'maximum size of a body', wholeFrom(1), 10 * 1024 * 1024)
    .addOption(timeoutOption('how long to wait for the app', 30))
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act(session, run))

async function run(session: Session, options: CaptureCommandOptions) {
  const { out, signal } = session
  if (options.raw) await needConsent(session, options, rawWarning)
  const secrets = await findSecrets(session, options)
  needFolder(resolve(session.cwd, options.dir), options.dir)
  const enough = new AbortController()
  const tally = { arrived: 0, kept: 0, lost: 0 }
  const lose = (error: unknown) => {
    tally.lost += 1
    reportLoss(session, error)
  }
  const recorder = await startRecorder({
    ...options,
    signal,
    onError: lose,
    onRefused: (reason) => out.say(`a request was refused: ${reason}`),
    async onRequest(request, answer) {
      tally.arrived += 1
      try {
        await keep(session, request, { options, secrets, number: tally.arrived, answer })
      } catch (error) {
        lose(error)
        return false
      }
      tally.kept += 1
      if (tally.kept === options.count) enough.abort()
      return true
    },
  })
  const { url, port } = recorder
  out.record({ type: 'ready', url, port, dir: options.dir, raw: Boolean(options.raw) })
  out.say(`listening on ${out.tint('bold', url)}, saving captures in ${options.dir}/`)
  if (secrets.length === 0 && !options.raw) {
    out.say(
      'no secret given: deliveries are not verified, so forged ones are signed again like all others',
    )
  }
  const ends = AbortSignal.any([signal, enough.signal])
  if (!ends.aborted) await once(ends, 'abort')
  await recorder.close()
  const { kept, lost } = tally
  out.record({ type: 'summary', captures: kept, lost })
  const missing = lost > 0 ? `, ${count(lost, 'delivery', 'deliveries')} not saved` : ''
  out.say(`${count(kept, 'capture')} saved in ${options.dir}/${missing}`)
  return lost > 0 ? exitCodes.failed : exitCodes.ok
}

/** Checked before it listens: a sender may send a delivery only once. */
function needFolder(path: string, name: string): void {
  try {
    mkdirSync(path, { recursive: true })
    accessSync(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new CliError('DIR_UNWRITABLE', `--dir ${name} cannot be written: ${reasonOf(error)}`)
  }
}

function reportLoss({ out, signal }: Session, error: unknown): void {
  // Ctrl-C also ends the request to the app; that is not an error.
  if (signal.aborted) return
  const message = `a delivery was not saved: ${reasonOf(error)}`
  out.record({ type: 'error', code: 'CAPTURE_NOT_KEPT', message })
  out.say(`${out.tint('red', 'error:')} ${printable(message)}`)
}

interface Keeping {
  readonly options: CaptureCommandOptions
  readonly secrets: readonly NamedSecret[]
  readonly number: number
  readonly answer: DeliveryAnswer | undefined
}

async function keep(
  session: Session,
  request: RecordedRequest,
  { options, secrets, number, answer }: Keeping,
): Promise<void> {
  const { out, cwd } = session
  const receivedAt = session.now()
  const delivery = { ...request, receivedAt }
  const { method, body } = request
  const { scheme = schemes.service() } = chosenSender(session, options)
  const checked = { secret: secretsFor(scheme, secrets), scheme, now: () => receivedAt }
  const proof = secrets.length === 0 ? undefined : await verify(delivery, checked)
  const made = await toCapture(delivery, defined({ scheme, method, redact: !options.raw, proof }))
  const event = nameOf(body)
  const time = receivedAt.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const name = (at: number) => `${time}-${String(at).padStart(3, '0')}-${event ?? 'unknown'}.json`
  const pathOf = (at: number) => resolve(cwd, options.dir, name(at))
  const path = writeNew(`${JSON.stringify(made, null, 2)}\n`, number, pathOf)
  const file = relative(cwd, path)
  const bytes = body.length
  const verified = proof && { verified: proof.ok, ...(!proof.ok && { code: proof.code }) }
  const outcome = answer && { status: answer.status, ...outcomeOf(answer) }
  const answered = outcome && { answer: outcome }
  out.record({ type: 'capture', file, method, bytes, event, ...verified, ...answered })
  const isGood = answer !== undefined && answer.status >= 200 && answer.status < 300
  const status = answer && printable(String(answer.status || (answer.error ?? '---')))
  const columns = [
    printable(`${method} ${pathnameOf(request.url)}`),
    event ?? 'unknown',
    `${bytes} bytes`,
    proof && out.paint(proof.ok ? 'green' : 'red', proof.ok ? 'signed' : proof.code),
    status && out.paint(isGood ? 'green' : 'red', status),
    file,
  ]
  out.data(columns.filter(Boolean).join('  '))
  const hint = answer && !isGood ? hintFor({ ...answer, ...outcome }) : undefined
  if (hint) out.say(out.tint('yellow', `  ${hint}`))
}

/** The path of an address; senders may send an invalid Host header. */
function pathnameOf(url: string): string {
  if (URL.canParse(url)) return new URL(url).pathname
  return url.replace(/^[^/]*\/\/[^/]*/, '').split(/[?#]/, 1)[0] || '/'
}

/** The event's name if the service has it; anything else could be personal data. */
function nameOf(body: Uint8Array): string | undefined {
  const { event, type, name } = fieldsIn(body)
  const found = event ?? type ?? name
  return [...eventNames, ...legacyNames].find((known) => known === found)
}
