// Reads secrets from a file, stdin, the environment or the config file, never from an argument,
// which any process of the machine can read. No message shows a secret or a value that may be one.
import { parseEnv } from 'node:util'
import { Option } from 'commander'
import { isBytes } from '../../src/foundation/bytes.ts'
import type { Scheme, Secret } from '../../src/index.ts'
import { privateKey, publicKey } from '../../src/signature/keys.ts'
import { CliError, looksSecret } from './exit-code.ts'
import { readInput } from './files.ts'
import { holdsPassword } from './output.ts'
import type { Session } from './session.ts'

export type NamedSecret = Secret & { readonly id: string; readonly value: string | Uint8Array }

/** The secrets as a scheme takes them: for a scheme with public keys their text is a key. */
export function secretsFor({ algorithm }: Scheme, secrets: readonly NamedSecret[]) {
  if (!['ed25519', 'es256', 'rs256'].includes(algorithm)) return secrets
  return secrets.map(({ value, ...secret }) => {
    const isPrivate = typeof value === 'string' && value.includes('PRIVATE KEY')
    return { ...secret, value: isPrivate ? privateKey(value) : publicKey(value) }
  })
}

export interface SecretOptions {
  readonly secretFile?: string
}

/** The option for the file; the secret is never its value. */
export const secretFileOption = () =>
  new Option(
    '--secret-file <file>',
    'file with WEBHOOK_SECRET=… or with one secret per line, or - for stdin (default: WEBHOOK_SECRET, else the config file)',
  )

const forbidden =
  /^--?((webhook|signing|shared|client)?[-_]?secrets?|((idv|api|inbox|encryption|signing)[-_]?)*key|token|password)(=|$)/i

/** The address of a database with a password in it. */
const withPassword = /postgres(ql)?:\/\/([^\s/]*:.+@|.*[?&](ssl)?password=)/is
/** The name of an option before its value. */
const optionName = /^--?[\w-]+=/

/** Rejects secrets among the arguments, before anything could repeat one. */
export function refuseSecretArguments(args: readonly string[]): void {
  if (args.some((arg) => withPassword.test(arg) || holdsPassword(arg.replace(optionName, '')))) {
    throw new CliError(
      'SECRET_ARGUMENT',
      'never pass an address with a password as an argument, because any process on this machine can read it. Set IDV_INBOX, pass env:NAME with the name of a variable that holds it, or set PGPASSWORD',
    )
  }
  const found = args.find((arg) => forbidden.test(arg))
  if (found === undefined) return
  const flag = found.split('=', 1)[0]
  throw new CliError(
    'SECRET_ARGUMENT',
    `${flag}: never pass a secret as an argument: any process on this machine can read it. Set WEBHOOK_SECRET (or IDV_API_KEY, IDV_INBOX_KEY), or pass --secret-file <file> (- for stdin)`,
  )
}

export async function findSecrets(session: Session, options: SecretOptions) {
  const { env, config } = session
  // WEBHOOK_SECRET overrides secretFile of the config file: see settings.ts.
  if (options.secretFile !== undefined) return fromFile(session, options.secretFile)
  if (env.WEBHOOK_SECRET) return [{ id: 'WEBHOOK_SECRET', value: env.WEBHOOK_SECRET }]
  if (config.values.secret !== undefined) return named(config.values.secret, 'config')
  return []
}

/** Tells people where the secret in use comes from, never its value. */
export function secretOrigin({ env }: Session, { secretFile }: SecretOptions): string {
  if (secretFile === '-') return 'stdin'
  if (secretFile !== undefined) return secretFile
  return env.WEBHOOK_SECRET ? 'WEBHOOK_SECRET' : 'the config file'
}

export async function needSecrets(session: Session, options: SecretOptions) {
  const secrets = await findSecrets(session, options)
  if (secrets.length > 0) return secrets
  throw new CliError(
    'SECRET_MISSING',
    'no secret given: set WEBHOOK_SECRET, pass --secret-file <file> (- for stdin), or set `secret` in the config file',
  )
}

async function fromFile(session: Session, file: string): Promise<readonly NamedSecret[]> {
  const [origin, where] = file === '-' ? ['stdin', 'stdin'] : ['file', shownPath(file)]
  const fail = (why: string, code = 'SECRET_MISSING') =>
    new CliError(code, `--secret-file: ${where} ${why}`)
  const read = { shown: `--secret-file: ${where}`, code: 'SECRET_MISSING' }
  const content = new TextDecoder().decode(await readInput(session, file, read)).trim()
  if (content === '') throw fail('is empty')
  if (/[\0\uFFFD]/.test(content)) {
    throw fail('is not text in UTF-8: save it as UTF-8 (> of Windows PowerShell 5 writes UTF-16)')
  }
  if (/^([[{]|"[^\r\n]*"$)/.test(content)) {
    try {
      return named(JSON.parse(content), origin)
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error
      throw fail('starts like JSON but is not JSON', 'SECRET_INVALID')
    }
  }
  const variable = parseEnv(content).WEBHOOK_SECRET
  if (variable) return named(variable, origin)
  const lines = content.split(/\r?\n/).flatMap((line) => line.trim() || [])
  if (variable === undefined && !isEnvFile(lines)) return named(lines, origin)
  const fault = variable === '' ? 'an empty WEBHOOK_SECRET' : 'variables but no WEBHOOK_SECRET'
  throw fail(
    `has ${fault}: write the secret as WEBHOOK_SECRET=… (also one with = in it), or pass a file with one secret per line`,
  )
}

/** A path as messages show it; a secret may have been passed instead of one. */
function shownPath(file: string): string {
  const isPath = /[./\\]/.test(file) && !file.split(/[./\\]/).some(looksSecret)
  return isPath && !looksSecret(file) ? file : 'the file (not shown: it could be a secret)'
}

/** An = only at the end of lines is the padding of base64. */
function isEnvFile(lines: readonly string[]): boolean {
  const set = lines.filter((line) => !line.startsWith('#'))
  const isPadded = set.every((line) => /^[^=]*={1,2}$/.test(line))
  return !isPadded && set.every((line) => /^(export\s+)?[A-Z_]\w*\s*=/i.test(line))
}

/** Gives every secret an id: its own, or its origin. */
function named(value: unknown, origin: string): readonly NamedSecret[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value]
  return list.map((one, at) => {
    const id = list.length > 1 ? `${origin}:${at + 1}` : origin
    if (typeof one === 'string' || isBytes(one)) return { id, value: one }
    const secret = one as Partial<Secret> | null
    if (typeof secret?.value === 'string' || isBytes(secret?.value)) {
      return { ...secret, id: secret.id ?? id, value: secret.value }
    }
    throw new CliError(
      'SECRET_INVALID',
      `secret ${id} must be a string or { id, value }: check the ${origin}`,
    )
  })
}
