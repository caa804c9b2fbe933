// Which headers can be the id of a delivery. A constant header as id would make every later event a
// duplicate, so an id must differ wherever events differ.
import type { NamedCapture } from '../capture-files.ts'
import { readsAsMoment } from './moments.ts'
import { isOrdinary } from './readings.ts'

/** The headers that could be the id that is signed. */
export function idHeaders(captures: readonly NamedCapture[]): readonly string[] {
  const [first] = captures
  if (!first) return []
  const names = new Set(first.delivery.headers.map(([name]) => name))
  return [...names].filter((name) => !isOrdinary(name) && canBeId(name, captures))
}

function canBeId(name: string, captures: readonly NamedCapture[]): boolean {
  const bodies = new Map<string, string>()
  for (const { delivery } of captures) {
    const id = headerValue(delivery.headers, name)
    if (id === undefined || !/^[\x21-\x7e]{1,128}$/.test(id) || readsAsMoment(id)) return false
    const body = Buffer.from(delivery.body).toString('base64')
    // The same id with the same body is a repeated delivery.
    if (bodies.has(id) && bodies.get(id) !== body) return false
    bodies.set(id, body)
  }
  return true
}

function headerValue(headers: NamedCapture['delivery']['headers'], wanted: string) {
  return headers.find(([name]) => name === wanted)?.[1].trim()
}

/** Whether all captures are of one event, so that an id looks like a constant. */
export function areOfOneEvent(captures: readonly NamedCapture[]): boolean {
  return (
    new Set(captures.map(({ delivery }) => Buffer.from(delivery.body).toString('base64'))).size < 2
  )
}
