// Key sets over https: read in bounded time and length, and the keys in them.
import { readStream } from '../foundation/bytes.ts'
import type { PublicKeyName } from '../protocol/scheme-definition.ts'
import { type Jwk, jwkBytes } from './public-keys.ts'

/** A public key with its id. */
export interface PublicKey {
  readonly id: string | undefined
  readonly algorithm: PublicKeyName
  readonly der: Uint8Array
}

/** More keys than any sender rotates through. */
export const mostKeys = 100

interface Reading {
  readonly fetch: typeof fetch
  /** Milliseconds. */
  readonly timeout: number
  readonly maxBytes: number
  readonly algorithms: readonly PublicKeyName[]
}

/** @throws Error for an answer that is not a whole set of keys in time */
export async function readKeySet(
  url: string,
  { fetch, timeout, maxBytes, algorithms }: Reading,
): Promise<readonly PublicKey[]> {
  const signal = AbortSignal.timeout(timeout)
  // A redirect could lead to another host, or away from https, so it is an answer without keys.
  // Workers refuse a request with `redirect: 'error'`.
  const answer = await fetch(url, {
    signal,
    redirect: 'manual',
    headers: { accept: 'application/jwk-set+json, application/json' },
  })
  if (!answer.ok || answer.redirected || !answer.body) {
    await answer.body?.cancel()
    throw new Error(`the key server answered with status ${answer.status}`)
  }
  const bytes = await readStream(answer.body, { most: maxBytes, signal })
  if (!bytes) throw new Error(`the key set is longer than ${maxBytes} bytes`)
  const json: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  return keysOf(json, algorithms)
}

function keysOf(json: unknown, allowed: readonly PublicKeyName[]): readonly PublicKey[] {
  const list: unknown = (json as { keys?: unknown } | null)?.keys
  if (!Array.isArray(list) || list.length > mostKeys) {
    throw new Error(`the answer is not a set of at most ${mostKeys} keys`)
  }
  return list.flatMap((jwk: Jwk | null) => (jwk ? keyOf(jwk, allowed) : []))
}

/** One key for each of the algorithms that it can have. */
export function keyOf(jwk: Jwk, allowed: readonly PublicKeyName[]): readonly PublicKey[] {
  return allowed.flatMap((algorithm) => {
    const der = jwkBytes(jwk, algorithm)
    const id = typeof jwk.kid === 'string' ? jwk.kid : undefined
    return der ? [{ id, algorithm, der }] : []
  })
}
