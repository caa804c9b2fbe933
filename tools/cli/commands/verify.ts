// verify: whether captures are signed with a configured secret, offline, and if not, why.
import { type VerifyResult, verify as verifyDelivery } from '../../../src/index.ts'
import { testSecret } from '../../../src/testing/index.ts'
import { type NamedCapture, readCaptures } from '../capture-files.ts'
import { exitCodes, usageError } from '../exit-code.ts'
import { type Output, printable } from '../output.ts'
import { chosenSender, type SchemeChoice, schemeOf, schemeOption } from '../schemes.ts'
import { findSecrets, needSecrets, type SecretOptions, secretFileOption } from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'

interface VerifyCommandOptions extends SecretOptions, SchemeChoice {
  readonly at?: string
}

export const verify = (session: Session) =>
  declare('verify', {
    details:
      'Checks offline whether captures are signed with a configured secret. Prints the secret that matched, or the proved cause of the mismatch. Redacted captures are signed with the public test secret, which is always tried for them. Exits 1 if any capture does not verify.',
    examples: [
      'verify captures/approved.json',
      'verify captures/ --secret-file ./secret --scheme timestamped',
    ],
  })
    .argument('<captures...>', 'capture files, folders of them, or - for stdin')
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .option(
      '--at <time>',
      'the time to compare a signed time with: now, or ISO 8601 (default: when it was received)',
    )
    .action(act(session, run))

/** Verifies captures and reports each. */
async function run(session: Session, options: VerifyCommandOptions, paths: readonly string[]) {
  const captures = await readCaptures(session, paths)
  const redactedOnly = captures.every(({ redacted }) => redacted)
  const secrets = await (redactedOnly ? findSecrets : needSecrets)(session, options)
  const { scheme: chosen } = chosenSender(session, options)
  const at = timeOf(session, options.at)
  let failed = false
  for (const capture of captures) {
    const scheme = schemeOf(capture, chosen)
    const result = await verifyDelivery(capture.delivery, {
      secret: capture.redacted ? [...secrets, { id: 'test-secret', value: testSecret }] : secrets,
      scheme,
      now: () => at ?? capture.delivery.receivedAt ?? session.now(),
    })
    failed ||= !result.ok
    await reportResult(session.out, capture, { result, scheme: scheme.name })
  }
  return failed ? exitCodes.failed : exitCodes.ok
}

function timeOf(session: Session, at: string | undefined): Date | undefined {
  if (at === undefined) return undefined
  const time = at === 'now' ? session.now() : new Date(at)
  if (!Number.isNaN(time.getTime())) return time
  throw usageError("--at must be 'now' or an ISO 8601 time")
}

const unproved = 'no more can be proved: check the secret, the bytes and the scheme (see discover)'

async function reportResult(
  out: Output,
  { file, delivery }: NamedCapture,
  { result, scheme }: { readonly result: VerifyResult; readonly scheme: string },
): Promise<void> {
  const common = { type: 'verified' as const, file, scheme, bytes: delivery.body.length }
  const [name, label] = [printable(file), `(scheme ${printable(scheme)})`]
  if (result.ok) {
    const { secretId } = result
    out.record({ ...common, ok: true, secretId })
    const by = printable(secretId ?? '')
    out.data(`${out.paint('green', 'yes')} ${name} is signed with ${by} ${label}`)
    return
  }
  const diagnosis = await result.diagnose()
  out.record({ ...common, ok: false, code: result.code, ...(diagnosis && { diagnosis }) })
  out.data(`${out.paint('red', 'no')}  ${name}: ${result.code} ${label}`)
  out.data(`    ${printable(diagnosis?.message ?? unproved)}`)
  if (diagnosis) out.data(`    fix: ${printable(diagnosis.fix)}`)
}
