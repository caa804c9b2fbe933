// Recognizes ids that say nothing about a person, by forms that only machines write.

/** RFC 9562. Hex of ASCII text never has the variant bits of a UUID. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
/**
 * The first two characters allow the years 2004 to 2039; an id of digits alone could be a number.
 */
const ulid = /^01(?=(?:\d*[A-Z]){8})[0-9A-HJKMNP-TV-Z]{24}$/
/** Prefixes of the ids of the service and of its subscribers. */
const prefix =
  /^(?:api|cli|client|dlv|doc|evt_fixture|evt|event|key|mat|matter|mem|msg|org|req|request|sess|sub|usr|ver|verification|wh|whk)[_-]/i

/**
 * Tells an opaque id: a UUID or a ULID, with or without a known prefix, or up to five digits after
 * a prefix. Seven digits could be a telephone number, six a date.
 */
export function isOpaqueId(id: string): boolean {
  const bare = id.replace(prefix, '')
  return uuid.test(bare) || ulid.test(bare) || (bare !== id && /^\d{1,5}$/.test(bare))
}

const replaced = new Map<string, string>()
const maxReplaced = 10_000

/**
 * Replaces an id by a random UUID, unless it is opaque. The process remembers ten thousand ids, so
 * that the captures of one recording still belong together. The UUID is not a hash of the id: a hash
 * of a document number can be reversed by trying all numbers.
 */
export function opaqueId(id: string): string {
  const known = isOpaqueId(id) ? id : replaced.get(id)
  if (known !== undefined) return known
  const made = (prefix.exec(id)?.[0] ?? '') + crypto.randomUUID()
  if (replaced.size >= maxReplaced) replaced.clear()
  if (id.length <= 200) replaced.set(id, made)
  return made
}
