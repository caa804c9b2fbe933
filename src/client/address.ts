// Where the service is and how its paths are spelled: the base address, the two path families of
// section 4, ids and queries. An id cannot lead to another path.
import { invalid, shown } from '../foundation/check.ts'

/** Section 9: the deprecated paths stay until interface release 2.19.0 at least. */
export type PathFamily = 'canonical' | 'legacy'

/** The segment that every base address ends with (section 9). */
const version = '/v2/api'

/**
 * Checks a base address and returns it without a trailing slash.
 *
 * @throws WebhookError `OPTION_INVALID`
 */
export function checkedBaseUrl(baseUrl: unknown): string {
  const example = `the service's address with its version, e.g. https://api.example.com${version}`
  const refuse = (why: string) => invalid(`baseUrl must be ${example}; ${why}`)
  if (typeof baseUrl !== 'string') throw refuse(`got ${shown(baseUrl)}`)
  if (!URL.canParse(baseUrl)) throw refuse('this is not a URL')
  const url = new URL(baseUrl)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('use https or http')
  if (url.username || url.password) throw refuse('remove the user name and password')
  if (url.search || url.hash) throw refuse('remove the query or fragment')
  const path = url.pathname.replace(/\/$/, '')
  if (!path.endsWith(version)) throw refuse(`it must end in ${version}`)
  return `${url.origin}${path}`
}

/** The path of an endpoint below the base address. */
export function pathOf(pattern: string, family: PathFamily, id?: string): string {
  const path = family === 'legacy' ? pattern.replace(/^\/verifications/, '/requests') : pattern
  return id === undefined ? path : path.replace('{id}', encodeURIComponent(id))
}

/** Describes what is wrong with an id; `.` and `..` would lead to another path. */
export function idFault(id: unknown): string | undefined {
  if (typeof id !== 'string') return 'must be a string'
  if (!id.isWellFormed()) return 'contains a lone surrogate (half a character)'
  return /^\.{0,2}$/.test(id) ? 'must be the id of a resource' : undefined
}

/** A checked query as text, with its question mark; lists are joined by commas (section 4.2). */
export function queryText(query: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(query).map(([name, value]) => [name, String(value)])
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}
