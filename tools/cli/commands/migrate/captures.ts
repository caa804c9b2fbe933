// migrate captures: new files under the current names, signed again; the originals stay unchanged.
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { defined } from '../../../../src/foundation/defined.ts'
import { type Scheme, sign, verify } from '../../../../src/index.ts'
import {
  canonicalName,
  defaultEnvelope,
  type EnvelopePaths,
  legacyNames,
} from '../../../../src/protocol/index.ts'
import { testSecret } from '../../../../src/testing/index.ts'
import { type NamedCapture, readCaptures } from '../../capture-files.ts'
import { exitCodes } from '../../exit-code.ts'
import { writeWhole } from '../../files.ts'
import { count, printable } from '../../output.ts'
import type { CaptureState } from '../../records.ts'
import {
  chosenScheme,
  needSignature,
  type SchemeChoice,
  schemeOf,
  schemeOption,
} from '../../schemes.ts'
import {
  findSecrets,
  type NamedSecret,
  needSecrets,
  type SecretOptions,
  secretFileOption,
} from '../../secrets.ts'
import { act, declare, type Session } from '../../session.ts'

interface CapturesOptions extends SecretOptions, SchemeChoice {
  readonly out?: string
}

export const migrateCaptures = (session: Session) =>
  declare('captures', {
    summary: 'convert captures to the current names',
    details: [
      'Writes a new file for each capture with a legacy name: only the event is renamed, and the body is signed again with the secret that signed it (the test secret for redacted captures). The originals stay unchanged. A capture that does not verify, or did not when it was recorded, is skipped, because signing would make it genuine.',
    ],
    examples: [
      'idv-webhooks migrate captures test/captures',
      'idv-webhooks migrate captures test/captures --out test/captures-renamed',
    ],
  })
    .argument('<captures...>', 'capture files, or folders of them')
    .option('--out <dir>', 'folder for the new files (default: beside the originals)')
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<CapturesOptions>(session, (options, paths) => run(session, options, paths)))

async function run(session: Session, options: CapturesOptions, paths: readonly string[]) {
  const { out } = session
  const captures = await readCaptures(session, paths)
  const names = namePaths(session)
  const tally = { written: 0, current: 0, there: 0, unproved: 0, exists: 0 }
  const allRedacted = captures.every(
    (one) => one.redacted || renameEvent(one.delivery.body, names) === undefined,
  )
  const own = await (allRedacted ? findSecrets : needSecrets)(session, options)
  for (const [at, capture] of captures.entries()) {
    session.signal.throwIfAborted()
    out.progress(`${at}/${captures.length} captures`)
    const secrets = capture.redacted ? [{ id: 'test-secret', value: testSecret }] : own
    const chosen = chosenScheme(session, options)
    const scheme = schemeOf(capture, chosen)
    if (!capture.redacted) needSignature(capture, chosen)
    const renamed = renameEvent(capture.delivery.body, names)
    const target = targetOf(session, options, capture.file)
    const state = renamed ? await write({ capture, renamed, target, secrets, scheme }) : 'current'
    tally[state] += 1
    printCapture(session, { capture, renamed, target, state })
  }
  out.record({ type: 'summary', ...tally })
  const skipped = tally.unproved + tally.exists
  out.say(
    `${count(tally.written, 'file')} written · ${tally.there} unchanged · ${tally.current} without a legacy name · ${skipped} skipped`,
  )
  return skipped > 0 ? exitCodes.failed : exitCodes.ok
}

/** Where the name is: by the envelope of the config file, else by the default envelope. */
function namePaths({ config }: Session): readonly string[] {
  const envelope = config.values.envelope as EnvelopePaths | undefined
  const own = typeof envelope === 'object' ? envelope.name : undefined
  return typeof own === 'string' ? [own] : (own ?? defaultEnvelope.name)
}

/** A body with the current name. */
interface RenamedEvent {
  readonly body: Uint8Array
  readonly from: string
  readonly to: string
}

/** Renames the event in the JSON text, so that every other byte is unchanged. */
function renameEvent(body: Uint8Array, paths: readonly string[]): RenamedEvent | undefined {
  const text = Buffer.from(body).toString()
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  const read = (path: string) => path.split('.').reduce(member, json)
  // The first path with a value is the name, as in the receiver.
  const path = paths.find((one) => (read(one) ?? null) !== null) ?? ''
  const from = read(path)
  const to = typeof from === 'string' ? canonicalName(from) : from
  if (typeof from !== 'string' || typeof to !== 'string' || to === from) return undefined
  const key = path.split('.').at(-1)
  const renamed = text.replaceAll(
    /"([^"\\]*)"(\s*:\s*)"([^"\\]*)"/g,
    (whole, name, colon, value) =>
      name === key && value === from ? `"${name}"${colon}"${to}"` : whole,
  )
  return { body: new TextEncoder().encode(renamed), from, to }
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined
}

function targetOf({ cwd }: Session, { out }: CapturesOptions, file: string): string {
  const folder = out === undefined ? dirname(resolve(cwd, file)) : resolve(cwd, out)
  const name = basename(file)
  const [prefix = ''] = legacyNames[0].split('.')
  const renamed = name.replace(new RegExp(`\\b${prefix}(?=[._-])`), 'verification')
  if (renamed !== name || out !== undefined) return join(folder, renamed)
  return join(folder, name.replace(/(\.json)?$/, '.migrated.json'))
}

interface CaptureToWrite {
  readonly capture: NamedCapture
  readonly renamed: RenamedEvent
  readonly target: string
  readonly secrets: readonly NamedSecret[]
  readonly scheme: Scheme
}

async function write(writing: CaptureToWrite): Promise<CaptureState> {
  const { capture, target, secrets, scheme } = writing
  const receivedAt = capture.delivery.receivedAt ?? new Date(0)
  const now = () => receivedAt
  const proof = await verify(capture.delivery, { secret: secrets, scheme, now })
  if (capture.verified === false || !proof.ok) return 'unproved'
  const content = await contentOf(writing, now)
  const before = existsSync(target) ? readFileSync(target, 'utf8') : undefined
  if (before === content) return 'there'
  if (before !== undefined) return 'exists'
  writeWhole(target, content, { mode: 0o600 })
  return 'written'
}

/** The JSON of the capture with the new body and its signature; everything else unchanged. */
async function contentOf({ capture, renamed, secrets, scheme }: CaptureToWrite, now: () => Date) {
  const { method, delivery } = capture
  const { url } = delivery
  const header = (name: string) => delivery.headers.find(([one]) => one === name.toLowerCase())?.[1]
  const id = scheme.id && header(scheme.id.header)
  const values = { secret: secrets, scheme, now, id, url, method }
  const signed = await sign(renamed.body, {
    ...defined(values),
    headers: Object.fromEntries(delivery.headers),
  })
  const json = JSON.parse(capture.source) as { readonly headers: readonly [string, string][] }
  const lengths = { 'content-length': String(renamed.body.length) }
  const fresh: Readonly<Record<string, string>> = { ...lengths, ...signed }
  const headers = json.headers.map(([name, value]) => [name, fresh[name.toLowerCase()] ?? value])
  const body = Buffer.from(renamed.body).toString('base64')
  return `${JSON.stringify({ ...json, headers, body }, null, 2)}\n`
}

interface MigratedCapture {
  readonly capture: NamedCapture
  readonly renamed: RenamedEvent | undefined
  readonly target: string
  readonly state: CaptureState
}

function printCapture(
  { out, cwd }: Session,
  { capture, renamed, target, state }: MigratedCapture,
): void {
  const { file } = capture
  const to = relative(cwd, target)
  const names = renamed && { from: renamed.from, to: renamed.to }
  out.record({ type: 'capture', file, state, ...names, ...(renamed && { target: to }) })
  if (state === 'written') out.data(`${printable(file)} → ${printable(to)}  (${renamed?.to})`)
  if (state === 'unproved') {
    out.say(`${printable(file)} skipped: it does not verify, or did not when it was recorded`)
  }
  if (state === 'exists') {
    out.say(`${printable(to)} exists and differs: move it`)
  }
}
