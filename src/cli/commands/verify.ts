// verify: offline, whether captures are signed with a configured secret, and if not what is proved
// about the cause.
import { schemes, type VerifyResult, verify as verifyDelivery } from '../../index.ts'
import { testSecret } from '../../testing/index.ts'
import { type NamedCapture, readCaptures } from '../capture-files.ts'
import { CliError, exitCodes } from '../exit-code.ts'
import { type Output, printable } from '../output.ts'
import { chosenScheme, type SchemeChoice, schemeOption } from '../scheme-option.ts'
import {
  findSecrets,
  type NamedSecret,
  needSecrets,
  type SecretOptions,
  secretFileOption,
} from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'

interface VerifyOptions extends SecretOptions, SchemeChoice {
  readonly at?: string
}

export const verify = (session: Session) =>
  declare('verify', {
    summary: 'tell whether a capture is signed with your secret, and if not why',
    details: [
      'Tells, offline, whether captures are signed with a configured secret: yes with the secret that matched, or no with what is proved about the cause. Redacted captures are signed with the public test secret, which is always tried for them. Exits 1 when any is not.',
    ],
    examples: [
      'idv-webhooks verify captures/approved.json',
      'idv-webhooks verify captures/ --secret-file ./secret --scheme timestamped',
      'idv-webhooks verify captures/approved.json --at now',
    ],
  })
    .argument('<captures...>', 'capture files, folders of them, or - for stdin')
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .option(
      '--at <time>',
      'the time at which a signed time is judged: now, or ISO 8601 (default: when it was received)',
    )
    .action(act<VerifyOptions>(session, (options, paths) => run(session, options, paths)))

async function run(session: Session, options: VerifyOptions, paths: readonly string[]) {
  const captures = await readCaptures(session, paths)
  const redactedOnly = captures.every(({ redacted }) => redacted)
  const secrets = await (redactedOnly ? findSecrets : needSecrets)(session, options)
  const chosen = chosenScheme(session, options)
  const at = judgedAt(session, options.at)
  let failed = false
  for (const capture of captures) {
    const scheme = chosen ?? capture.scheme ?? schemes.service()
    const result = await verifyDelivery(capture.delivery, {
      secret: [...secrets, ...(capture.redacted ? [forTests] : [])],
      scheme,
      now: () => at ?? capture.delivery.receivedAt ?? session.now(),
    })
    failed ||= !result.ok
    await tell(session.out, capture, { result, scheme: scheme.name })
  }
  return failed ? exitCodes.failed : exitCodes.ok
}

const forTests: NamedSecret = { id: 'test-secret', value: testSecret }

function judgedAt(session: Session, at: string | undefined): Date | undefined {
  if (at === undefined) return undefined
  const time = at === 'now' ? session.now() : new Date(at)
  if (!Number.isNaN(time.getTime())) return time
  throw new CliError('USAGE', "error: --at is no time: give 'now' or ISO 8601")
}

const unproved: Partial<Record<string, string>> = {
  SIGNATURE_MISSING: 'it has no signature in the header of this scheme: see discover',
  SIGNATURE_MALFORMED: 'its signature is not written as this scheme writes one: see discover',
  SIGNATURE_MISMATCH: 'nothing more is proved: another secret, other bytes, or another scheme',
  HEADER_AMBIGUOUS: 'a security header stands twice',
}

async function tell(
  out: Output,
  { file, delivery }: NamedCapture,
  { result, scheme }: { readonly result: VerifyResult; readonly scheme: string },
): Promise<void> {
  const facts = { type: 'verified' as const, file, scheme, bytes: delivery.body.length }
  const name = printable(file)
  if (result.ok) {
    out.record({ ...facts, ok: true, secretId: result.secretId })
    out.data(
      `${out.paint('green', 'yes')} ${name} is signed with ${printable(result.secretId ?? '')} (scheme ${printable(scheme)})`,
    )
    return
  }
  const diagnosis = await result.diagnose()
  out.record({ ...facts, ok: false, code: result.code, ...(diagnosis && { diagnosis }) })
  out.data(`${out.paint('red', 'no')}  ${name}: ${result.code} (scheme ${printable(scheme)})`)
  if (diagnosis)
    out.data(`    ${printable(diagnosis.message)}\n    fix: ${printable(diagnosis.fix)}`)
  else out.data(`    ${printable(unproved[result.code] ?? 'nothing more is proved')}`)
}
