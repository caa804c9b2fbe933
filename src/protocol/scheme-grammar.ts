// Checks of a scheme's grammar: one form, with names and prefixes that its own separators leave
// whole.
import { checkOptionNames, shown } from '../foundation/check.ts'
import { refuse } from './scheme-checks.ts'
import type { Grammar, JwtGrammar, PairsGrammar, SchemeDefinition } from './scheme-definition.ts'

const forms = ['prefix', 'pairs', 'list', 'jwt'] as const

/** @throws WebhookError `SCHEME_INVALID` for a grammar that is unknown, mixed or unreadable */
export function checkedGrammar(definition: SchemeDefinition): Grammar {
  const { grammar } = definition
  if (grammar === 'plain') return grammar
  const given: object = typeof grammar === 'object' && grammar !== null ? grammar : {}
  const found = forms.filter((form) => form in given)
  if (found.length !== 1) {
    throw refuse(
      `grammar must be 'plain', { prefix }, { pairs }, { list } or { jwt }, got ${mixed(grammar, found)}`,
    )
  }
  const known = 'prefix' in given ? ['prefix', 'optional'] : found
  checkOptionNames('grammar', given, known, 'SCHEME_INVALID')
  if ('prefix' in given) checkPrefix(given)
  else if ('pairs' in given) checkPairs(given.pairs)
  else if ('list' in given) checkList(given.list)
  else checkJwt((given as { jwt: unknown }).jwt, definition)
  return grammar
}

function mixed(grammar: unknown, found: readonly string[]): string {
  return found.length > 1 ? `a mix of ${found.join(' and ')}` : shown(grammar)
}

function checkPrefix({ prefix, optional }: { prefix?: unknown; optional?: unknown }): void {
  if (typeof prefix !== 'string' || prefix === '') {
    throw refuse(`grammar.prefix must be text, got ${shown(prefix)}`)
  }
  if (prefix.includes(',')) {
    throw refuse('grammar.prefix has a comma, which separates signatures: use { list: { prefix } }')
  }
  if (!isPlain(prefix)) {
    throw refuse('grammar.prefix must be printable ASCII, with a space only inside or at its end')
  }
  if (optional !== undefined && typeof optional !== 'boolean') {
    throw refuse(`grammar.optional must be true or false, got ${shown(optional)}`)
  }
  if (optional === true && prefix.includes(' ')) {
    throw refuse('grammar.optional does not go with a prefix that has a space')
  }
}

const isPlain = (text: string) => /^[\x21-\x7e](?:[\x20-\x7e]*)$/.test(text)

function checkList(list: unknown): void {
  checkOptionNames('grammar.list', list, ['prefix'], 'SCHEME_INVALID')
  const { prefix } = list as { prefix?: unknown }
  if (typeof prefix === 'string' && /^[\x21-\x7e]+$/.test(prefix)) return
  throw refuse(
    `grammar.list.prefix must be printable text without a space, which separates signatures, got ${shown(prefix)}`,
  )
}

function checkPairs(pairs: unknown): void {
  const names = ['signature', 'timestamp', 'separator']
  checkOptionNames('grammar.pairs', pairs, names, 'SCHEME_INVALID')
  const { signature, timestamp, separator = ',' } = pairs as PairsGrammar
  if (separator !== ',' && separator !== ';') {
    throw refuse(`grammar.pairs.separator must be ',' or ';', got ${shown(separator)}`)
  }
  pairName('signature', signature)
  if (timestamp === undefined) return
  pairName('timestamp', timestamp)
  if (timestamp === signature) throw refuse('grammar.pairs has the same name for both')
}

function pairName(field: string, name: unknown): void {
  if (typeof name === 'string' && /^[\w.-]+$/.test(name)) return
  throw refuse(
    `grammar.pairs.${field} must be a name of letters, digits, '_', '.' and '-', got ${shown(name)}`,
  )
}

function checkJwt(jwt: unknown, { algorithm, signed, encoding }: SchemeDefinition): void {
  checkOptionNames('grammar.jwt', jwt, ['bodyHash'], 'SCHEME_INVALID')
  const { bodyHash } = jwt as Partial<JwtGrammar>
  if (typeof bodyHash !== 'string' || bodyHash === '') {
    throw refuse(
      `grammar.jwt.bodyHash must name the claim of the body's hash, got ${shown(bodyHash)}`,
    )
  }
  if (!['ed25519', 'es256', 'rs256'].includes(algorithm)) {
    throw refuse('with a JWT needs a public key: use ed25519, es256 or rs256')
  }
  if (signed !== '{body}')
    throw refuse("with a JWT signs the body by its hash: signed must be '{body}'")
  if (encoding !== 'base64url') throw refuse("with a JWT needs the encoding 'base64url'")
}
