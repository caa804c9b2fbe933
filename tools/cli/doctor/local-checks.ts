// Checks without a receiver: Node, the form of the secret, the clock.
import { reasonOf } from '../../../src/errors.ts'
import { type Scheme, verify } from '../../../src/index.ts'
import { testSecret } from '../../../src/testing/index.ts'
import { type NamedSecret, secretsFor } from '../secrets.ts'

/** A check of the environment. */
export interface Check {
  readonly name: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
}

/** The version of Node that runs this. */
export function checkNode(version: string): Check {
  const [major = 0] = version.split('.').map(Number)
  const odd = major % 2 === 1
  return {
    name: 'node',
    state: odd ? 'warning' : 'ok',
    message: odd ? `Node ${version} is not a long-term support release` : `Node ${version}`,
  }
}

/** The form of a secret; its value is never part of a message. */
export async function checkSecret(secret: NamedSecret, scheme: Scheme): Promise<Check> {
  const name = `secret ${secret.id}`.trim()
  const { value } = secret
  try {
    await verify(
      { body: new Uint8Array(), headers: {} },
      { secret: secretsFor(scheme, [secret]), scheme },
    )
  } catch (error) {
    return {
      name,
      state: 'failed',
      message: reasonOf(error),
    }
  }
  const warning = (message: string): Check => ({ name, state: 'warning', message })
  if (value === testSecret) return warning('is the public test secret: anyone can sign with it')
  if (typeof value === 'string' && /^(undefined|null|true|false)$|^(['"]).*\2$/.test(value)) {
    return warning(
      'is a word or has quotes that do not belong to it: check the environment variable',
    )
  }
  if (value.length < 16) {
    const length = value.length === 1 ? '1 character' : `${value.length} characters`
    return warning(`has only ${length}: use 32 or more`)
  }
  if (typeof value === 'string' && value.startsWith('whsec_') && scheme.key === 'utf8') {
    return warning("begins with whsec_, but the scheme reads it as text: set its key to 'whsec'")
  }
  if (typeof value === 'string' && new Set(value).size < 8) {
    return warning('repeats a few characters: create one with openssl rand -hex 32')
  }
  return { name, state: 'ok', message: `${value.length} characters, read as ${scheme.key}` }
}

/** How far the app's clock is from ours, by its Date header; undefined where it sends none. */
export function checkClock(date: string | undefined, now: Date, scheme: Scheme): Check | undefined {
  const theirs = date === undefined ? Number.NaN : new Date(date).getTime()
  if (Number.isNaN(theirs)) return undefined
  const seconds = Math.round((theirs - now.getTime()) / 1000)
  const far = Math.abs(seconds) > 30
  const state = far ? (scheme.tolerance === 'none' ? 'warning' : 'failed') : 'ok'
  const side = seconds > 0 ? 'ahead of' : 'behind'
  const message = far
    ? `the app's clock is ${Math.abs(seconds)} s ${side} ours: synchronize both with NTP`
    : "the app's clock agrees with ours"
  return { name: 'clock', state, message }
}
