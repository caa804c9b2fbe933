// Whether an id says nothing of a person: made by a machine, and not a name, a date of birth or a
// telephone number that somebody uses as one.

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const ulid = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
/** What ids of the service and of its subscribers begin with; it is left out of the judgement. */
const prefix =
  /^(?:api|cli|client|dlv|doc|evt_fixture|evt|event|key|mat|matter|mem|msg|org|req|request|sess|sub|usr|ver|verification|wh|whk)[_-]/i

/** Whether an id is opaque; what looks like words, a short number or a long one of digits is not. */
export function isOpaqueId(id: string): boolean {
  if (id.length > 80) return false
  const bare = id.replace(prefix, '')
  if (uuid.test(bare) || ulid.test(bare)) return true
  // Seven digits may be a telephone number, and six a date.
  if (bare !== id && /^\d{1,5}$/.test(bare)) return true
  if (!/^[A-Za-z0-9_-]+$/.test(bare) || !/\d.*\d/.test(bare)) return false
  if (bare !== id && /^[0-9a-f]{4,64}$/i.test(bare) && /[a-f]/i.test(bare)) return !isWordy(bare)
  return /[A-Za-z]/.test(bare) && bare.length >= 8 && !isWordy(bare)
}

/** Letters and digits by turns are a machine's; words and numbers in a row are a person's. */
function isWordy(text: string): boolean {
  const turns = text.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0
  const longest = Math.max(0, ...(text.match(/[A-Za-z]+/g) ?? []).map((word) => word.length))
  const digits = Math.max(0, ...(text.match(/\d+/g) ?? []).map((number) => number.length))
  return turns < Math.min(3, Math.floor(text.length / 4)) || longest > 6 || digits > 6
}
