// The secret that a recreated subscription signs with where the service hides the old one: one that
// the caller gives, or one that the service draws and this command saves in a file.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { CliError } from '../../exit-code.ts'
import type { NamedSecret } from '../../secrets.ts'
import { assertOwn, writeWhole } from '../../write-file.ts'
import type { SecretOrigin, Subscription } from './plan.ts'

/** Secrets for subscriptions that are created. */
export interface SigningSecrets {
  /**
   * The secret to create a subscription with; without a value the service draws one.
   *
   * @throws CliError `SECRET_MISSING`
   */
  for(subscription: Pick<Subscription, 'id' | 'secret'>): {
    readonly origin: SecretOrigin
    readonly secret?: string
  }
  /** Saves the secret that the service has drawn. */
  keep(created: Subscription): void
  /** Removes the secret of a subscription that no longer exists. */
  forget(id: string): void
}

/** Options of the lookup of signing secrets. */
export interface SigningSecretsOptions {
  readonly given: readonly NamedSecret[]
  /** The file for new secrets; without it the service draws none. */
  readonly newSecrets: string | undefined
}

/** Ids that `findSecrets` gives to a secret without an id of its own. */
const unnamed = /^(WEBHOOK_SECRET|config|file|stdin)$/

/** @throws CliError `FILE_INVALID` where the file for new secrets is of somebody else */
export function signingSecrets({ given, newSecrets }: SigningSecretsOptions): SigningSecrets {
  if (newSecrets !== undefined) assertOwn(newSecrets)
  return {
    for({ id, secret }) {
      if (secret !== undefined) return { origin: 'same', secret }
      const [only, ...more] = given
      const own = given.find((one) => one.id === id)
      const fits = own ?? (more.length === 0 && only && unnamed.test(only.id) ? only : undefined)
      if (fits) return { origin: 'given', secret: asText(fits.value) }
      if (newSecrets !== undefined) return { origin: 'new' }
      throw new CliError('SECRET_MISSING', missing(id, given.length))
    },
    keep({ id, secret }) {
      if (newSecrets === undefined) return
      if (secret === undefined) {
        const message = `the service drew a secret for ${id} but does not show it: provide one with --secret-file`
        throw new CliError('SECRET_MISSING', message)
      }
      write(newSecrets, [...others(newSecrets, id), { id, value: secret }])
    },
    forget(id) {
      if (newSecrets !== undefined) write(newSecrets, others(newSecrets, id))
    },
  }
}

interface KeptSecret {
  readonly id: string
  readonly value: string
}

function others(file: string, id: string): readonly KeptSecret[] {
  if (!existsSync(file)) return []
  try {
    const kept = JSON.parse(readFileSync(file, 'utf8')) as readonly KeptSecret[]
    return kept.filter((one) => one.id !== id)
  } catch {
    const message = `${file} exists but is not a JSON list of secrets: choose another file`
    throw new CliError('FILE_INVALID', message)
  }
}

function write(file: string, secrets: readonly KeptSecret[]): void {
  if (secrets.length === 0) rmSync(file, { force: true })
  else writeWhole(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, isPrivate: true })
}

function asText(value: NamedSecret['value']): string {
  return typeof value === 'string' ? value : new TextDecoder().decode(value)
}

function missing(id: string, given: number): readonly string[] {
  const which = given > 0 ? 'none of the given secrets has its id' : 'none was given'
  return [
    `the service hides the secret of ${id}, and ${which}: its replacement would sign with a secret that your receiver does not have`,
    'provide the secret of the receiver: WEBHOOK_SECRET, or --secret-file with [{ "id": "<subscription>", "value": "…" }, …] if they differ',
    'or let the service draw new ones and save them for your receiver: --new-secrets <file>',
  ]
}
