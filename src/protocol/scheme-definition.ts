// The language in which a scheme is written down: plain data that survives JSON. Nothing here runs.

/**
 * How a delivery proves where it came from: a signature of its bytes, a signature of a time and not
 * of the bytes, a shared token, or the address.
 */
export type Authenticity = 'signature' | 'timestamp' | 'token' | 'ip'

export type HmacName = 'sha256' | 'sha512' | 'sha1'
/** Signatures by a private key, checked with the public one. */
export type PublicKeyName = 'ed25519' | 'es256' | 'rs256'

/** HS256 takes a shared secret. */
export type JwsAlgorithm = 'hs256' | PublicKeyName

/** How signatures stand in the header's value. */
export type Grammar =
  /** One or more signatures, separated by commas or spaces. */
  | 'plain'
  /** One or more signatures, each after a prefix such as `sha256=` or `HMAC `. */
  | { readonly prefix: string; readonly optional?: boolean }
  /** `t=…,v1=…`: pairs; several groups, and several signatures in one, allowed. */
  | { readonly pairs: PairsGrammar }
  /** Space-separated, those with the prefix counting: `v1,… v1,…`. */
  | { readonly list: { readonly prefix: string } }
  /** A compact JWS whose claims hold the SHA-256 of the body and the time (`iat`). */
  | { readonly jwt: JwtGrammar }

export interface PairsGrammar {
  readonly signature: string
  readonly timestamp?: string
  /** The separator of pairs, with optional white space around it; a comma by default. */
  readonly separator?: ',' | ';'
}

export interface JwtGrammar {
  /** The claim that holds the body's SHA-256 in hex. */
  readonly bodyHash: string
}

/** How a signed time is written; whole seconds since 1970 by default. */
export type TimestampFormat = 'seconds' | 'milliseconds' | 'iso8601'

/** The definition that `schemes.define` accepts. */
export interface SchemeDefinition {
  readonly name: string
  /**
   * The header that carries the signature; case does not matter. Several where a sender writes one
   * signature for each key into a header of its own: a list, or `{n}` for numbers from 1.
   */
  readonly header: string | readonly string[]
  /** `token` and `ip` sign nothing: see `schemes.token` and `schemes.ip`. */
  readonly algorithm: HmacName | PublicKeyName | 'token' | 'ip'
  /**
   * How the secret's text becomes the key: its UTF-8 bytes, or what it decodes to. Public keys are
   * `pem`, `whpk`, or DER (or the raw bytes of Ed25519) in `base64` or `hex`.
   */
  readonly key: 'utf8' | 'base64' | 'hex' | 'whsec' | 'whpk' | 'pem'
  readonly encoding: 'hex' | 'base64' | 'base64url' | 'any'
  readonly grammar: Grammar
  /**
   * A template over `{body}`, `{timestamp}`, `{id}`, `{url}`, `{method}` and `{header:x-name}`,
   * e.g. `'{timestamp}.{body}'`.
   */
  readonly signed: string
  /** `'timestamp'` for a sender that signs a time and not the body; `signed` then has no `{body}`. */
  readonly authenticity?: Authenticity
  /** The format of the timestamp, and its header if the signature header does not hold it. */
  readonly timestamp?: { readonly header?: string; readonly format?: TimestampFormat }
  /**
   * The escapes that the sender decodes in the address before it signs it, such as `'%3A'`; all
   * others stay as they are.
   */
  readonly url?: { readonly decoded: readonly string[] }
  /** The header of the delivery's id. */
  readonly id?: { readonly header: string }
  /** Seconds that a signed time may differ from ours, to either side; default 300. */
  readonly tolerance?: number | 'none'
  /** The body is a JWS: see `schemes.bodyJws`. */
  readonly bodyJws?: BodyJwsRule
}

/** A scheme that was checked; made by the builders of `schemes`. */
export interface Scheme extends Omit<SchemeDefinition, 'header' | 'authenticity'> {
  /** The header of the signature; the first where there are several. */
  readonly header: string
  /** All headers of signatures, where there are several. */
  readonly headers?: readonly string[]
  /** The proof that a delivery under this scheme gives. */
  readonly authenticity: Authenticity
  /** The template in pieces: fixed text, or the name of what stands there. */
  readonly template: readonly TemplatePart[]
  /** Seconds, or 'none' if no time is signed or the check is off. */
  readonly tolerance: number | 'none'
  /** The addresses of a sender that proves nothing else. */
  readonly addresses?: AddressCheck
  /** Reads the signature headers; undefined for the service's scheme, whose reader is built in. */
  readonly format?: { readerOf(scheme: Scheme): unknown }
  /** Reads and writes the header of a grammar with `jwt`. */
  readonly jws?: JwsFormat
  /** Reads and writes a body that is a JWS; `schemes.bodyJws` adds it. */
  readonly bodyJws?: BodyJws
}

/** A rule for a JWS as body. */
export interface BodyJwsRule {
  /** One with a shared secret, or some of public keys; a token cannot choose another one. */
  readonly algorithms: readonly JwsAlgorithm[]
  /** The `typ` that a token must have, e.g. `'secevent+jwt'`. */
  readonly type?: string
  /** The `iss` that a token must have. */
  readonly issuer?: string
  /** The `aud` that a token must have: yours, because a key set may sign for others too. */
  readonly audience?: string
  /** Seconds by which clocks may differ at `exp` and `nbf`; default 300. */
  readonly tolerance?: number | 'none'
}

/** A JWS as body: `schemes.bodyJws` makes it ready. */
export interface BodyJws extends BodyJwsRule {
  /** The payload in place of the token, and the claim that proves it or the reason why none does. */
  unwrap(delivery: { readonly body: Uint8Array; readonly now: number }): {
    readonly body: Uint8Array
    readonly claims:
      | { readonly ok: true; readonly claims: readonly JwsClaim[]; readonly id: string | undefined }
      | {
          readonly ok: false
          readonly code: `SIGNATURE_${'MALFORMED' | 'MISMATCH'}` | 'TIMESTAMP_OUTSIDE_TOLERANCE'
        }
  }
  /** The header and payload of a token, ready to be signed, as a sender writes them. */
  input(payload: Uint8Array, keyId: string | undefined): string
}

/** The claims of a JWS: the text that was signed, the body's hash in it, and which key signed. */
export interface Jws {
  readonly input: Uint8Array
  /** SHA-256 in lower-case hex; a JWS as body holds no hash, but the payload. */
  readonly bodyHash?: string
  readonly keyId?: string
  /** The algorithm that it names, if the scheme has several. */
  readonly algorithm?: PublicKeyName
}

/** A compact JWS in a header; `schemes.define` adds it, so that other schemes do not carry it. */
export interface JwsFormat {
  /** Undefined if the text is malformed, or names another algorithm than the scheme's. */
  read(scheme: Scheme, text: string): JwsClaim | undefined
  /** Writes the header and the claims of a JWS, as a sender does before it signs them. */
  input(scheme: Scheme, claims: JwsInput): string
}

/** The signature in lower-case hex, and the time in seconds. */
export interface JwsClaim {
  readonly timestamp?: string
  readonly signatures: readonly string[]
  readonly jws: Jws
}

export interface JwsInput {
  readonly digest: string
  readonly iat: number
  readonly keyId?: string | undefined
}

/** Which addresses count as the sender's, and how many proxies of ours stand before us. */
export interface AddressRule {
  /** CIDR ranges or single addresses, IPv4 and IPv6. */
  readonly allow: readonly string[]
  /** The number of own proxies that append to X-Forwarded-For; 0 if the socket's address counts. */
  readonly proxies: number
}

/** The rule as `schemes.ip` makes it ready. */
export interface AddressCheck extends AddressRule {
  /** Tells whether a delivery comes from one of the addresses; `forwarded` is X-Forwarded-For. */
  allows(peer: string | undefined, forwarded: readonly string[]): boolean
}

export type TemplatePart =
  | { readonly text: string }
  | { readonly value: TemplateValue }
  | { readonly header: string }
export type TemplateValue = 'body' | 'timestamp' | 'id' | 'url' | 'method'
