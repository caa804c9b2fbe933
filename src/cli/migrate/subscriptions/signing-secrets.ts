// With which secret a subscription is created anew where the service does not show the old one's:
// given by the caller, or drawn by the service and kept in a file. Never one that nobody knows.
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { CliError } from '../../exit-code.ts'
import type { NamedSecret } from '../../secrets.ts'
import { writeWhole } from '../../write-file.ts'
import type { Subscription } from './plan.ts'

/** Where the secret of a new subscription comes from. */
export type SecretOrigin = 'same' | 'given' | 'new'

/** Finds secrets for subscriptions that are created. */
export interface SigningSecrets {
  /**
   * The secret to create a subscription with; none when the service is to draw one.
   *
   * @throws CliError `SECRET_MISSING`
   */
  for(subscription: Pick<Subscription, 'id' | 'secret'>): {
    readonly origin: SecretOrigin
    readonly secret?: string
  }
  /** Keeps what the service has drawn. */
  keep(created: Subscription): void
  /** Lets go of a secret whose subscription was taken back. */
  forget(id: string): void
}

/** What the caller has given. */
export interface SigningSecretsOptions {
  readonly given: readonly NamedSecret[]
  /** The file for new secrets; without it the service draws none. */
  readonly newSecrets: string | undefined
}

/** Names that `findSecrets` gives to a secret without one. */
const unnamed = /^(WEBHOOK_SECRET|config|file|stdin)$/

export function signingSecrets({ given, newSecrets }: SigningSecretsOptions): SigningSecrets {
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
        throw new CliError(
          'SECRET_MISSING',
          `the service drew a secret for ${id} and does not show it: give one with --secret-file`,
        )
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
    throw new CliError('FILE_INVALID', `${file} is there and is no list of secrets: name another`)
  }
}

function write(file: string, secrets: readonly KeptSecret[]): void {
  if (secrets.length === 0) rmSync(file, { force: true })
  else writeWhole(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
}

function asText(value: NamedSecret['value']): string {
  return typeof value === 'string' ? value : new TextDecoder().decode(value)
}

function missing(id: string, given: number): string {
  const which = given > 0 ? 'none of the secrets given is called by its id' : 'none is given'
  return [
    `the service does not show the secret of ${id}, and ${which}; one that is created without it would sign with a secret that your receiver does not know`,
    'give the one that the receiver has: WEBHOOK_SECRET, or --secret-file with [{ "id": "<subscription>", "value": "…" }, …] where they differ',
    'or let the service draw new ones, kept for your receiver in a file: --new-secrets <file>',
  ].join('\n')
}
