// Where secrets come from: a file, stdin, the environment or the config file, never an argument,
// which every process of the machine can read. Their values are never printed.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { Option } from 'commander'
import type { Secret } from '../index.ts'
import { CliError } from './exit-code.ts'
import type { Session } from './session.ts'

/** A secret that always has a name to be called by. */
export type NamedSecret = Secret & { readonly id: string }

/** The options of commands that need a secret. */
export interface SecretOptions {
  readonly secretFile?: string
}

/** The option itself; the secret is never its value. */
export const secretFileOption = () =>
  new Option(
    '--secret-file <file>',
    'read the secret from a file, one a line, or - for stdin (else WEBHOOK_SECRET, else the config file)',
  )

const forbidden =
  /^--?(secrets?|api-?key|(?:inbox|encryption)-?key|key|token|password|webhook-secret)(=|$)/i

/** Refuses a secret among the arguments, before anything could repeat it. */
export function refuseSecretArguments(args: readonly string[]): void {
  const found = args.find((arg) => forbidden.test(arg))
  if (found === undefined) return
  const flag = found.split('=', 1)[0]
  throw new CliError(
    'SECRET_ARGUMENT',
    `${flag}: arguments can be read by every process on this machine, so a secret is none: set WEBHOOK_SECRET (the API key: IDV_API_KEY, the inbox's: IDV_INBOX_KEY), or give --secret-file <file>, or --secret-file - for stdin`,
  )
}

/** The configured secrets; none is an empty list. */
export async function findSecrets(
  session: Session,
  options: SecretOptions,
): Promise<readonly NamedSecret[]> {
  const { env, config } = session
  // The file's secretFile is no option while WEBHOOK_SECRET is set: see settings.ts.
  if (options.secretFile !== undefined) return fromFile(session, options.secretFile)
  if (env.WEBHOOK_SECRET) return [{ id: 'WEBHOOK_SECRET', value: env.WEBHOOK_SECRET }]
  if (config.values.secret !== undefined) return named(config.values.secret, 'config')
  return []
}

/** Where the secret in use comes from, for people: never what it is. */
export function secretOrigin({ env }: Session, { secretFile }: SecretOptions): string {
  if (secretFile === '-') return 'stdin'
  if (secretFile !== undefined) return secretFile
  return env.WEBHOOK_SECRET ? 'WEBHOOK_SECRET' : 'the config file'
}

/** The configured secrets, of which there must be one. */
export async function needSecrets(
  session: Session,
  options: SecretOptions,
): Promise<readonly NamedSecret[]> {
  const secrets = await findSecrets(session, options)
  if (secrets.length > 0) return secrets
  throw new CliError(
    'SECRET_MISSING',
    'no secret: set WEBHOOK_SECRET, or give --secret-file <file> (- for stdin), or `secret` in the config file',
  )
}

async function fromFile({ cwd, stdin }: Session, file: string): Promise<readonly NamedSecret[]> {
  let content: string
  try {
    content = file === '-' ? await text(stdin) : readFileSync(resolve(cwd, file), 'utf8')
  } catch {
    throw new CliError('SECRET_MISSING', `--secret-file ${file} cannot be read`)
  }
  const trimmed = content.trim()
  const origin = file === '-' ? 'stdin' : 'file'
  if (trimmed === '') {
    const where = file === '-' ? 'stdin' : file
    throw new CliError('SECRET_MISSING', `--secret-file: ${where} is empty, and holds no secret`)
  }
  if (/^[[{]/.test(trimmed)) return named(parsed(trimmed), origin)
  const lines = trimmed.split(/\r?\n/).filter((line) => line.trim() !== '')
  return named(
    lines.map((line) => line.trim()),
    origin,
  )
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new CliError('SECRET_INVALID', '--secret-file begins like JSON but is none')
  }
}

/** Gives every secret a name: its own id, or where it came from. */
function named(given: unknown, origin: string): readonly NamedSecret[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given]
  return list.map((one, at) => {
    const id = list.length > 1 ? `${origin}:${at + 1}` : origin
    if (typeof one === 'string' || one instanceof Uint8Array) return { id, value: one }
    const secret = one as Partial<Secret> | null
    if (typeof secret?.value === 'string' || secret?.value instanceof Uint8Array) {
      return { ...secret, id: secret.id ?? id, value: secret.value }
    }
    throw new CliError(
      'SECRET_INVALID',
      `secret ${id} is neither text nor { id, value }: check the ${origin}`,
    )
  })
}
