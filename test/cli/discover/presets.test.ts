import { readCapture } from 'idv-webhooks/testing'
import { type SenderName, senders, vendors } from 'idv-webhooks/vendors'
import { expect, test } from 'vitest'
import type { NamedCapture } from '../../../tools/cli/capture-files.ts'
import { presetsFor } from '../../../tools/cli/discover/presets.ts'
import { presetOf } from '../../../tools/cli/schemes.ts'
import { type ByHand, byHand, vendorsByHand } from '../../vendors/by-hand.ts'

const at = Date.UTC(2026, 1, 2, 3)
const url = 'https://app.test/webhooks'

/** A capture of what a sender made by node:crypto alone. */
function captureOf(vector: ByHand, body: Buffer): NamedCapture {
  const source = JSON.stringify({
    version: 1,
    receivedAt: new Date(at).toISOString(),
    method: 'POST',
    url,
    headers: Object.entries(vector.headers({ body, at, id: 'msg_1', url })),
    body: (vector.sends?.(body) ?? body).toString('base64'),
  })
  return { ...readCapture(source), file: 'a.json' }
}

const trial = (secret: string, ...captures: NamedCapture[]) =>
  presetsFor({ captures, secrets: [{ id: 'test', value: secret }] })
const namesOf = async (found: ReturnType<typeof trial>) => (await found).map(({ name }) => name)

// A capture of Smile ID would be the same with any body.
const provable = Object.keys(vendorsByHand).filter((name) => name !== 'smileId')

test.each(provable)('a capture of %s names its preset alone', async (name) => {
  const vector = vendorsByHand[name] as ByHand
  const { fixtures } = vendors[name as 'onfido']()
  const bodies = fixtures.map(({ body }) => Buffer.from(JSON.stringify(body)))
  const captures = bodies.map((body) => captureOf(vector, body))
  expect(await namesOf(trial(vector.secret, ...captures))).toEqual([`vendors.${name}()`])
})

test.each(Object.keys(byHand))('a capture of the sender %s names its preset', async (name) => {
  const vector = byHand[name] as ByHand
  const capture = captureOf(vector, Buffer.from('{"what":"happened"}'))
  const found = await namesOf(trial(vector.secret, capture))
  const own = `senders.${name}()`
  // One header may carry the SHA-1 of several senders; a stronger signature beside it counts more.
  expect(found).toContain(own)
  const { header } = senders[name as SenderName]()
  for (const preset of await trial(vector.secret, capture)) {
    expect(preset.scheme.header.toLowerCase()).toBe(header.toLowerCase())
  }
})

test('no preset is named for another secret, another body, or one capture of two', async () => {
  const vector = vendorsByHand.onfido as ByHand
  const body = Buffer.from(JSON.stringify(vendors.onfido().fixtures[0]?.body))
  const capture = captureOf(vector, body)
  expect(await trial('another-secret-of-some-length', capture)).toEqual([])
  expect(await trial(vector.secret)).toEqual([])
  const foreign = captureOf(vendorsByHand.veriff as ByHand, Buffer.from('{}'))
  expect(await trial(vector.secret, capture, foreign)).toEqual([])
})

test('a vendor is named only if the body is one of its events', async () => {
  const capture = captureOf(vendorsByHand.didit as ByHand, Buffer.from('{"meta":{}}'))
  const found = await namesOf(trial((vendorsByHand.didit as ByHand).secret, capture))
  expect(found).toEqual(['senders.lemonSqueezy()'])
})

test('schemes have the names of their presets', () => {
  expect(presetOf('vendors.onfido')?.scheme).toEqual(vendors.onfido().scheme)
  expect(presetOf('senders.slack()')?.scheme).toEqual(senders.slack())
  expect(presetOf("vendors.sumsub({ algorithm: 'sha512' })")?.scheme.algorithm).toBe('sha512')
  for (const unknown of ['onfido', 'vendors.jumio', 'vendors.', 'senders.toString']) {
    expect(presetOf(unknown)).toBeUndefined()
  }
})
