// Where the reader is: the address after `#`. Every page, filter and detail has one to be shared.
import { signal } from '@preact/signals'

function read() {
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

type QueryFields = Readonly<Record<string, string | number | undefined>>

/** A query string of what is given; empty values are left out. */
export function queryOf(values: QueryFields | URLSearchParams): string {
  const pairs = values instanceof URLSearchParams ? [...values] : Object.entries(values)
  const given = pairs.filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return text && `?${text}`
}

export function href(path: readonly string[], values: QueryFields | URLSearchParams = {}): string {
  return `#/${path.map(encodeURIComponent).join('/')}${queryOf(values)}`
}

export function go(address: string): void {
  location.hash = address
}

/** Changes the filters of the page that is shown, without a step back. */
export function filter(changes: QueryFields): void {
  // Not from `route`: until `hashchange` fires it is the page that the reader has left.
  const { path, query } = read()
  history.replaceState(null, '', href(path, { ...Object.fromEntries(query), ...changes }))
  route.value = read()
}
