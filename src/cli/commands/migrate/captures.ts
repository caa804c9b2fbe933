// migrate captures: new files under the current names, signed again; the originals stay as they are.
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type Scheme, schemes, sign, verify } from '../../../index.ts'
import { defaultEnvelope, type EnvelopePaths } from '../../../protocol/index.ts'
import { testSecret } from '../../../testing/index.ts'
import { type NamedCapture, readCaptures } from '../../capture-files.ts'
import { exitCodes } from '../../exit-code.ts'
import { currentPrefix, legacyPrefix } from '../../migrate/legacy.ts'
import { type RenamedEvent, renameEvent } from '../../migrate/rename-event.ts'
import { count, printable } from '../../output.ts'
import { chosenScheme, type SchemeChoice, schemeOption } from '../../scheme-option.ts'
import {
  findSecrets,
  type NamedSecret,
  needSecrets,
  type SecretOptions,
  secretFileOption,
} from '../../secrets.ts'
import { act, declare, type Session } from '../../session.ts'
import { writeWhole } from '../../write-file.ts'

interface CapturesOptions extends SecretOptions, SchemeChoice {
  readonly out?: string
  readonly force?: boolean
}

type State = 'written' | 'current' | 'there' | 'refused' | 'unproved' | 'exists'

export const migrateCaptures = (session: Session) =>
  declare('captures', {
    summary: 'write captures anew under the current names, signed again',
    details: [
      'Writes a new file for every capture of a legacy name: the event renamed, every other byte of the body as it was, signed again with the secret that signed it (the test secret for redacted ones). The originals stay. A capture that does not verify, or did not when it was taken, is left out: signing it would make it genuine.',
    ],
    examples: [
      'idv-webhooks migrate captures test/captures',
      'idv-webhooks migrate captures test/captures --out test/captures-renamed',
    ],
  })
    .argument('<captures...>', 'capture files, or folders of them')
    .option('--out <dir>', 'where the new files go; beside the originals by default')
    .option('--force', 'replace files that are there, and sign what does not verify')
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act<CapturesOptions>(session, (options, paths) => run(session, options, paths)))

async function run(session: Session, options: CapturesOptions, paths: readonly string[]) {
  const { out } = session
  const captures = await readCaptures(session, paths)
  const names = namePaths(session)
  const tally = { written: 0, current: 0, there: 0, refused: 0, unproved: 0, exists: 0 }
  const allRedacted = captures.every(
    (one) => one.redacted || renameEvent(one.delivery.body, names) === undefined,
  )
  const own = await (allRedacted ? findSecrets : needSecrets)(session, options)
  for (const [at, capture] of captures.entries()) {
    session.signal.throwIfAborted()
    out.progress(`${at}/${captures.length} captures`)
    const secrets = capture.redacted ? [{ id: 'test-secret', value: testSecret }] : own
    const scheme = chosenScheme(session, options) ?? capture.scheme ?? schemes.service()
    const renamed = renameEvent(capture.delivery.body, names)
    const target = targetOf(session, options, capture.file)
    const state = renamed
      ? await write({ capture, renamed, target, secrets, scheme, force: options.force })
      : 'current'
    tally[state] += 1
    tell(session, { capture, renamed, target, state })
  }
  out.record({ type: 'summary', ...tally })
  const leftOut = tally.refused + tally.unproved + tally.exists
  out.say(
    `${count(tally.written, 'file')} written · ${tally.there} already there · ${tally.current} without a legacy name · ${leftOut} left out`,
  )
  return leftOut > 0 ? exitCodes.failed : exitCodes.ok
}

/** Where the name stands: as the config file's envelope says, else as a receiver reads it. */
function namePaths({ config }: Session): readonly string[] {
  const envelope = config.values.envelope as EnvelopePaths | undefined
  const own = typeof envelope === 'object' ? envelope.name : undefined
  return typeof own === 'string' ? [own] : (own ?? defaultEnvelope.name)
}

function targetOf({ cwd }: Session, { out }: CapturesOptions, file: string): string {
  const folder = out === undefined ? dirname(resolve(cwd, file)) : resolve(cwd, out)
  const name = basename(file)
  const renamed = name.replace(new RegExp(`\\b${legacyPrefix}(?=[._-])`), currentPrefix)
  if (renamed !== name || out !== undefined) return join(folder, renamed)
  return join(folder, name.replace(/(\.json)?$/, '.migrated.json'))
}

interface Writing {
  readonly capture: NamedCapture
  readonly renamed: RenamedEvent
  readonly target: string
  readonly secrets: readonly NamedSecret[]
  readonly scheme: Scheme
  readonly force: boolean | undefined
}

async function write(writing: Writing): Promise<State> {
  const { capture, target, secrets, scheme, force } = writing
  if (capture.verified === false && !force) return 'refused'
  const receivedAt = capture.delivery.receivedAt ?? new Date(0)
  const now = () => receivedAt
  const proof = await verify(capture.delivery, { secret: secrets, scheme, now })
  if (!proof.ok && !force) return 'unproved'
  const content = await contentOf(writing, now)
  const before = existsSync(target) ? readFileSync(target, 'utf8') : undefined
  if (before === content) return 'there'
  if (before !== undefined && !force) return 'exists'
  writeWhole(target, content, { mode: 0o600 })
  return 'written'
}

/** The capture's own JSON with another body and the signature of that; the rest as it stands. */
async function contentOf({ capture, renamed, secrets, scheme }: Writing, now: () => Date) {
  const { url } = capture.delivery
  const header = (name: string) =>
    capture.delivery.headers.find(([one]) => one === name.toLowerCase())?.[1]
  const id = scheme.id && header(scheme.id.header)
  const signed = await sign(renamed.body, {
    secret: secrets,
    scheme,
    now,
    ...(id !== undefined && { id }),
    ...(url !== undefined && { url }),
  })
  const json = JSON.parse(capture.source) as { readonly headers: readonly [string, string][] }
  const lengths = { 'content-length': String(renamed.body.length) }
  const fresh: Readonly<Record<string, string>> = { ...lengths, ...signed }
  const headers = json.headers.map(([name, value]) => [name, fresh[name.toLowerCase()] ?? value])
  const body = Buffer.from(renamed.body).toString('base64')
  return `${JSON.stringify({ ...json, headers, body }, null, 2)}\n`
}

interface Told {
  readonly capture: NamedCapture
  readonly renamed: RenamedEvent | undefined
  readonly target: string
  readonly state: State
}

function tell({ out, cwd }: Session, { capture, renamed, target, state }: Told): void {
  const { file } = capture
  const to = relative(cwd, target)
  const names = renamed && { from: renamed.from, to: renamed.to }
  out.record({ type: 'capture', file, state, ...names, ...(renamed && { target: to }) })
  if (state === 'written') out.data(`${printable(file)} → ${printable(to)}  (${renamed?.to})`)
  if (state === 'refused') {
    out.say(
      `${printable(file)}: did not verify when it was captured (${printable(capture.code ?? 'no code')}), so it is not signed again (--force does)`,
    )
  }
  if (state === 'unproved') {
    out.say(`${printable(file)}: does not verify, so it is not signed again (--force does)`)
  }
  if (state === 'exists') {
    out.say(`${printable(to)} is there and differs: move it away, or give --force`)
  }
}
