// Refusals that the application holds keep no more unauthenticated bytes than may be read at a
// time.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { sign, verify } from 'idv-webhooks'
import { expect, test } from 'vitest'

const secret = 'held-secret'
const mebibyte = 1_048_576

async function refused(body: Uint8Array, signed = body.subarray(1)) {
  const result = await verify({ body, headers: await sign(signed, { secret }) }, { secret })
  if (result.ok) throw new Error('it verifies')
  return result
}

/** A body that a proxy has indented, which a diagnosis proves. */
async function indented() {
  const json = { event: 'client.created', data: { id: 'cli_1' } }
  const [compact, spaced] = [JSON.stringify(json), JSON.stringify(json, null, 2)]
  const utf8 = new TextEncoder()
  return refused(utf8.encode(spaced), utf8.encode(compact))
}

const large = () => refused(new Uint8Array(mebibyte), new Uint8Array(1))

test('the latest can be diagnosed, and earlier ones release their bodies', async () => {
  const early = await indented()
  const first = await indented()
  const kept = []
  for (let at = 0; at < 6; at++) kept.push(await large())
  expect(await first.diagnose()).toMatchObject({ cause: 'body-reserialized' })
  for (let at = 0; at < 94; at++) kept.push(await large())
  expect(await early.diagnose()).toBeUndefined()
  expect(await (await indented()).diagnose()).toMatchObject({ cause: 'body-reserialized' })
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc')
  const held = () => {
    collect()
    return process.memoryUsage().arrayBuffers
  }
  // One collection may leave some to the next.
  await expect.poll(held, { timeout: 5_000 }).toBeLessThan(24 * mebibyte)
  expect(kept).toHaveLength(100)
})

test('the last hundred of many small ones can be diagnosed', async () => {
  const early = await indented()
  const kept = []
  for (let at = 0; at < 110; at++) kept.push(await refused(Uint8Array.of(1, 2)))
  expect(await early.diagnose()).toBeUndefined()
  expect(kept).toHaveLength(110)
})

test('its diagnosis may be taken off a refusal, and survives a copy', async () => {
  const { code, diagnose } = await indented()
  expect([code, await diagnose()]).toMatchObject([
    'SIGNATURE_MISMATCH',
    { cause: 'body-reserialized' },
  ])
  const copy = { ...(await indented()) }
  expect(await copy.diagnose()).toMatchObject({ cause: 'body-reserialized' })
})

test('a diagnosis that has begun keeps its body, even if the refusal releases it meanwhile', async () => {
  const early = await indented()
  const others = await sign('another', { secret })
  const diagnosis = early.diagnose()
  const body = Uint8Array.of(1, 2)
  for (let at = 0; at < 110; at++) verify({ body, headers: others }, { secret })
  expect(await diagnosis).toMatchObject({ cause: 'body-reserialized' })
  expect(await early.diagnose()).toBeUndefined()
})
