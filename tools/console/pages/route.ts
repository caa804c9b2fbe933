// Where the reader is: the address after `#`. Every page, filter and detail has one to be shared.
import { signal } from '@preact/signals'

export interface Route {
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

function read(): Route {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const parts = path.split('/').filter(Boolean).map(decoded)
  return { path: parts, query: new URLSearchParams(search) }
}

/** An address typed by a person may be malformed. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

export const route = signal(read())

addEventListener('hashchange', () => {
  route.value = read()
})

type RouteQuery = Readonly<Record<string, string | undefined>>

/** The address of a page. */
export function href(path: readonly string[], query: RouteQuery | URLSearchParams = {}): string {
  const entries = query instanceof URLSearchParams ? [...query] : Object.entries(query)
  const given = entries.filter((pair): pair is [string, string] => Boolean(pair[1]))
  const search = new URLSearchParams(given).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${search && `?${search}`}`
}

/** Goes to a page; `replace` leaves no step back. */
export function go(address: string, { replace = false } = {}): void {
  if (!replace) {
    location.hash = address
    return
  }
  history.replaceState(null, '', address)
  route.value = read()
}

/** Changes the filters of the page that is shown. */
export function filter(changes: RouteQuery): void {
  const { path, query } = route.peek()
  const next = Object.fromEntries(query)
  go(href(path, { ...next, ...changes }), { replace: true })
}
