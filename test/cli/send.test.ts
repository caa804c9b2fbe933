// How send and doctor use a vendor's preset, and what they print of a response.
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { errorPage, type OutcomeCode } from 'idv-webhooks'
import { readVendorEvent } from 'idv-webhooks/vendors'
import { expect, onTestFinished, test } from 'vitest'
import { namesInDialect } from '../../src/vendors/dialect.ts'
import { exampleMaker } from '../../tools/cli/commands/send.ts'
import { deliver } from '../../tools/cli/deliver.ts'
import { vendorFrame } from '../../tools/cli/doctor/probes.ts'
import { hintFor } from '../../tools/cli/hints.ts'
import { everyVendor } from '../vendors/every-vendor.ts'

const all = everyVendor({ allow: ['203.0.113.9'], proxies: 0 })
const now = new Date('2026-03-01T10:00:00.000Z')

test.each(all)('every example of $name reads as the event that was asked for', (vendor) => {
  const names = namesInDialect(vendor)
  expect(names.length).toBeGreaterThan(1)
  for (const name of names) {
    const make = exampleMaker(name, vendor)
    const [event, other] = [make(now), make(now)].map((body) => readVendorEvent(vendor, body))
    expect([event?.name, event?.receivedName]).toContain(name)
    // The challenge of one is about nothing.
    if (event?.entity) expect(event.entity.id).not.toBe(other?.entity?.id)
  }
  expect(() => exampleMaker('estate.created', vendor)).toThrow(/has no example of 'estate.created'/)
})

test.each(all)('a receiver of $name reads a probe, as no decision', (vendor) => {
  const event = readVendorEvent(vendor, vendorFrame(vendor)('probe-1'))
  expect(event).toMatchObject({
    name: `${vendor.name}.idv-webhooks.doctor`,
    receivedName: 'idv-webhooks.doctor',
    entity: { type: 'verification', id: 'doctor' },
  })
})

test.each([
  ['HEADER_AMBIGUOUS', 400, /arrived twice/],
  ['BODY_NOT_JSON', 400, /not JSON/],
  ['BODY_NOT_UTF8', 400, /not UTF-8/],
  ['BODY_INCOMPLETE', 400, /bodyTimeout/],
  ['ENVELOPE_INVALID', 400, /finds no event.*`vendor`.*replay/],
  ['EVENT_INVALID', 400, /schema/],
  ['ADDRESS_NOT_ALLOWED', 403, /certain addresses/],
] satisfies [OutcomeCode, number, RegExp][])(
  'the hint for %s is about it, with its page, and not about its status',
  (code, status, words) => {
    const hint = hintFor({ status, code })
    expect(hint).toMatch(words)
    expect(hint).toContain(`(${errorPage(code)})`)
    expect(hint).not.toBe(hintFor({ status }))
  },
)

test('a server that switches protocols is a response', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n')
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const { signal } = new AbortController()
  const answer = await deliver({ url, headers: [], body: new Uint8Array() }, { timeout: 5, signal })
  expect(answer).toMatchObject({ status: 101, headers: { upgrade: 'h2c' } })
  expect(hintFor(answer)).toMatch(/another protocol/)
})
