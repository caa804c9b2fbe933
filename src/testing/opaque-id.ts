// Whether an id says nothing about a person. A form that only machines write decides, not a guess
// whether it looks random: a name, a number or a text in base64 can look like anything.

/** As RFC 9562 has them: no ASCII text in hex has the mark of a variant where they have it. */
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
/** Of the years 2004 to 2039, as the first two characters say; digits alone could be a number. */
const ulid = /^01(?=(?:\d*[A-Z]){8})[0-9A-HJKMNP-TV-Z]{24}$/
/** Prefixes of ids of the service and of its subscribers. */
const prefix =
  /^(?:api|cli|client|dlv|doc|evt_fixture|evt|event|key|mat|matter|mem|msg|org|req|request|sess|sub|usr|ver|verification|wh|whk)[_-]/i

/**
 * Whether an id is opaque: a UUID or a ULID, also behind a known prefix; behind one, up to five
 * digits are enough. Seven could be a telephone number, six a date.
 */
export function isOpaqueId(id: string): boolean {
  const bare = id.replace(prefix, '')
  return uuid.test(bare) || ulid.test(bare) || (bare !== id && /^\d{1,5}$/.test(bare))
}

/** Characters; a sender may state an id as long as its body. */
const longestRemembered = 200

/** The last ten thousand at least, so that a long recording has a bound; twice as many at most. */
class Fakes {
  readonly #most = 10_000
  #new = new Map<string, string>()
  #old = this.#new

  get(id: string): string | undefined {
    return this.#new.get(id) ?? this.#old.get(id)
  }

  set(id: string, fake: string): void {
    if (this.#new.size >= this.#most) {
      this.#old = this.#new
      this.#new = new Map()
    }
    this.#new.set(id, fake)
  }
}

const fakes = new Fakes()

/**
 * A random id of the same shape. A process gives the last ten thousand ids the same one again, so
 * that captures of one recording still belong together. It is not derived from the id: a hash of a document
 * number could be reversed by trying them all.
 */
export function fakeId(id: string): string {
  const known = fakes.get(id)
  if (known !== undefined) return known
  const [start = ''] = prefix.exec(id) ?? []
  const bare = id.slice(start.length)
  let fake = start + scramble(bare)
  // An id of one or two letters may meet itself by chance; one of marks alone always does.
  const mayDiffer = /[A-Za-z0-9]/.test(bare)
  for (let tries = 0; mayDiffer && fake === id && tries < 20; tries++) fake = start + scramble(bare)
  if (id.length <= longestRemembered) fakes.set(id, fake)
  return fake
}

const alphabets = ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123456789']

/** Letters without their marks, and digits, by random ones; other ASCII characters stay. */
function scramble(text: string): string {
  const characters = text.match(/\p{L}\p{M}*|\p{N}|[\s\S]/gu) ?? []
  const dice = crypto.getRandomValues(new Uint8Array(Math.min(characters.length, 65_536)))
  return characters
    .map((one, at) => {
      if (/^[^\x20-\x7e]/.test(one)) return 'x'
      const alphabet = alphabets.find((letters) => letters.includes(one.charAt(0)))
      return alphabet?.[(dice[at % dice.length] ?? 0) % alphabet.length] ?? one
    })
    .join('')
}
