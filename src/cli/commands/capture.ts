// capture: a recording proxy. What it keeps holds no person unless that is asked for twice.
import { once } from 'node:events'
import { accessSync, constants, mkdirSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { schemes, verify } from '../../index.ts'
import { eventNames, legacyNames } from '../../protocol/index.ts'
import { capture as toCapture } from '../../testing/index.ts'
import { needConsent } from '../consent.ts'
import { type Answer, outcomeOf } from '../deliver.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { hintFor } from '../hints.ts'
import { count, printable } from '../output.ts'
import { type Arrival, startRecorder } from '../recorder.ts'
import { chosenScheme, type SchemeChoice, schemeOption } from '../scheme-option.ts'
import { findSecrets, type NamedSecret, type SecretOptions, secretFileOption } from '../secrets.ts'
import {
  act,
  addressFrom,
  declare,
  mostSeconds,
  numberFrom,
  type Session,
  wholeFrom,
} from '../session.ts'
import { writeWhole } from '../write-file.ts'

interface CaptureOptions extends SecretOptions, SchemeChoice {
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

const rawWarning = '--raw keeps names, addresses and documents of real people in plain files'

export const capture = (session: Session) =>
  declare('capture', {
    summary: 'record deliveries as files, and hand them on',
    details: [
      'Listens, keeps the exact bytes of every delivery as a file, and hands it on to your app. The person is taken out of what is kept and the bytes are signed again with the public test secret, unless they did not verify under your secret: such a capture says so, and stays refused. --raw keeps everything as it came, which discover needs, and asks for a word of consent (--yes).',
      'With --to, a bare host (http://localhost:3000) gets every delivery at the path that the sender called; an address with a path gets all of them there. The query goes along either way, and the answer of the app goes back as it is. Exits 1 when a delivery could not be kept.',
    ],
    examples: [
      'idv-webhooks capture --port 4000 --to http://localhost:3000/webhooks',
      'idv-webhooks capture --raw --yes --count 2 --dir private-captures',
    ],
  })
    .option('--port <port>', 'where to listen; 0 takes a free one', wholeFrom(0, 65535), 4000)
    .option('--host <host>', 'the address to listen on', '127.0.0.1')
    .option('--to <url>', 'forward every delivery to your app and return its response', addressFrom)
    .option('--dir <dir>', 'where the files go', 'captures')
    .option('--raw', 'keep deliveries as they came, with the person in them')
    .option('--yes', 'the word of consent that --raw needs')
    .option('--count <n>', 'stop after so many', wholeFrom(1))
    .option('--status <status>', 'the answer where nothing is forwarded', wholeFrom(200, 599), 200)
    .option('--max-bytes <n>', 'the largest body to take', wholeFrom(1), 10 * 1024 * 1024)
    .option(
      '--timeout <seconds>',
      'how long to wait for the app',
      numberFrom(0.001, mostSeconds),
      30,
    )
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<CaptureOptions>(session, (options) => run(session, options)))

async function run(session: Session, options: CaptureOptions) {
  const { out, signal } = session
  if (options.raw) await needConsent(session, options, rawWarning)
  const secrets = await findSecrets(session, options)
  needFolder(resolve(session.cwd, options.dir), options.dir)
  const enough = new AbortController()
  const tally = { arrived: 0, kept: 0, lost: 0 }
  const lose = (error: unknown) => {
    tally.lost += 1
    tellLoss(session, error)
  }
  const recorder = await startRecorder({
    ...options,
    signal,
    onError: lose,
    async onArrival(arrival, answer) {
      tally.arrived += 1
      try {
        await keep(session, { options, secrets, number: tally.arrived }, { arrival, answer })
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
  out.say(`listening on ${out.tint('bold', url)}, keeping captures in ${options.dir}/`)
  if (secrets.length === 0 && !options.raw) {
    out.say(
      'without a secret nobody looks whether they verify: forged ones are signed like the rest',
    )
  }
  const ends = AbortSignal.any([signal, enough.signal])
  if (!ends.aborted) await once(ends, 'abort')
  await recorder.close()
  const { kept, lost } = tally
  out.record({ type: 'summary', captures: kept, lost })
  const missing = lost > 0 ? `, ${count(lost, 'delivery', 'deliveries')} not kept` : ''
  out.say(`${count(kept, 'capture')} kept in ${options.dir}/${missing}`)
  return lost > 0 ? exitCodes.failed : exitCodes.ok
}

/** Told before anything listens: a sender would not send its delivery twice. */
function needFolder(path: string, name: string): void {
  try {
    mkdirSync(path, { recursive: true })
    accessSync(path, constants.W_OK | constants.X_OK)
  } catch (error) {
    throw new CliError('DIR_UNWRITABLE', `--dir ${name} cannot be written: ${reasonOf(error)}`)
  }
}

function tellLoss({ out, signal }: Session, error: unknown): void {
  // A wait for the app that Ctrl-C ended is no fault of anybody's.
  if (signal.aborted) return
  const message = `a delivery was not kept: ${reasonOf(error)}`
  out.record({ type: 'error', code: 'CAPTURE_NOT_KEPT', message })
  out.say(`${out.tint('red', 'error:')} ${printable(message)}`)
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

interface Keeping {
  readonly options: CaptureOptions
  readonly secrets: readonly NamedSecret[]
  readonly number: number
}

async function keep(
  session: Session,
  { options, secrets, number }: Keeping,
  { arrival, answer }: { readonly arrival: Arrival; readonly answer: Answer | undefined },
): Promise<void> {
  const { out, cwd } = session
  const receivedAt = session.now()
  const delivery = { ...arrival, receivedAt }
  const scheme = chosenScheme(session, options) ?? schemes.service()
  const proved =
    secrets.length === 0
      ? undefined
      : await verify(delivery, { secret: secrets, scheme, now: () => receivedAt })
  const { method } = arrival
  const proof = proved && { proof: proved }
  const made = await toCapture(delivery, { scheme, method, redact: !options.raw, ...proof })
  const event = nameOf(arrival.body)
  const time = receivedAt.toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const name = `${time}-${String(number).padStart(3, '0')}-${event ?? 'unknown'}.json`
  const path = resolve(cwd, options.dir, name)
  writeWhole(path, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 })
  const file = relative(cwd, path)
  const told = answer && { status: answer.status, ...outcomeOf(answer) }
  const verified = proved && { verified: proved.ok, ...(!proved.ok && { code: proved.code }) }
  out.record({
    type: 'capture',
    file,
    method,
    bytes: arrival.body.length,
    event,
    ...verified,
    ...(told && { answer: told }),
  })
  out.data(describe(session, { arrival, file, event, answer, verified }))
  const hint = answer && answer.status >= 200 && answer.status < 300 ? undefined : answer
  const said = hint && hintFor({ ...hint, ...outcomeOf(hint) })
  if (said) out.say(out.tint('yellow', `  ${said}`))
}

interface Told {
  readonly arrival: Arrival
  readonly file: string
  readonly event: string | undefined
  readonly answer: Answer | undefined
  readonly verified: { readonly verified: boolean; readonly code?: string } | undefined
}

function describe({ out }: Session, { arrival, file, event, answer, verified }: Told): string {
  const good = answer && answer.status >= 200 && answer.status < 300
  const status = answer && (answer.status === 0 ? (answer.error ?? '---') : String(answer.status))
  const signature = verified && (verified.verified ? 'signed' : (verified.code ?? ''))
  return [
    printable(`${arrival.method} ${pathOf(arrival.url)}`),
    event ?? 'unknown',
    `${arrival.body.length} bytes`,
    ...(signature ? [out.paint(verified.verified ? 'green' : 'red', signature)] : []),
    ...(status ? [out.paint(good ? 'green' : 'red', printable(status))] : []),
    file,
  ].join('  ')
}

/** A host that is none, as senders may give it, is no reason to keep nothing. */
function pathOf(url: string): string {
  if (URL.canParse(url)) return new URL(url).pathname
  return url.replace(/^[^/]*\/\/[^/]*/, '').split(/[?#]/, 1)[0] || '/'
}

/** The event's name, where it is one of the service's: anything else could be a person's. */
function nameOf(body: Uint8Array): string | undefined {
  try {
    const json = JSON.parse(new TextDecoder().decode(body)) as Record<string, unknown> | null
    const name = json?.event ?? json?.type ?? json?.name
    const known: readonly unknown[] = [...eventNames, ...legacyNames]
    return known.includes(name) ? String(name) : undefined
  } catch {
    return undefined
  }
}
