import { schemes, sign, verify } from 'idv-webhooks'
import { describe, expect, test } from 'vitest'
import { fromHex, toHex } from '../../src/signature/encoding.ts'
import { makeHmacKey as makeNodeKey, sha256 as nodeSha256 } from '../../src/signature/hmac/node.ts'
import { makeHmacKey as makeWebKey, sha256 as webSha256 } from '../../src/signature/hmac/web.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)
const bytes = (hex: string) => fromHex(hex) as Uint8Array

/** RFC 4231, section 4: test cases 1 to 4, 6 and 7 (5 truncates its output). */
const rfc4231: [key: Uint8Array, data: Uint8Array, sha256: string, sha512: string][] = [
  [
    bytes('0b'.repeat(20)),
    utf8('Hi There'),
    'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    '87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cdedaa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854',
  ],
  [
    utf8('Jefe'),
    utf8('what do ya want for nothing?'),
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
  ],
  [
    bytes('aa'.repeat(20)),
    bytes('dd'.repeat(50)),
    '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe',
    'fa73b0089d56a284efb0f0756c890be9b1b5dbdd8ee81a3655f83e33b2279d39bf3e848279a722c806b485a47e67c807b946a337bee8942674278859e13292fb',
  ],
  [
    bytes('0102030405060708090a0b0c0d0e0f10111213141516171819'),
    bytes('cd'.repeat(50)),
    '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
    'b0ba465637458c6990e5a8c5f61d4af7e576d97ff94b872de76f8050361ee3dba91ca5c11aa25eb4d679275cc5788063a5f19741120c4f2de2adebeb10a298dd',
  ],
  [
    bytes('aa'.repeat(131)),
    utf8('Test Using Larger Than Block-Size Key - Hash Key First'),
    '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    '80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f3526b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598',
  ],
  [
    bytes('aa'.repeat(131)),
    utf8(
      'This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before being used by the HMAC algorithm.',
    ),
    '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
    'e37b6a775dc87dbaa4dfa9f96e5e3ffddebd71f8867289865df5a32d20cdc944b6022cac3c4982b10d5eeb55c3e4de15134676fb6de0446065c97440fa8c6a58',
  ],
]

describe.each([
  ['node:crypto', makeNodeKey, nodeSha256],
  ['WebCrypto', makeWebKey, webSha256],
])('HMAC by %s', (_, makeKey, sha256) => {
  test.each(rfc4231)('gives the answers of RFC 4231 (%#)', async (key, data, want256, want512) => {
    for (const [algorithm, want] of [
      ['sha256', want256],
      ['sha512', want512],
    ] as const) {
      const made = makeKey(key, algorithm)
      expect(toHex(await made.sign([data]))).toBe(want)
      expect(toHex(await made.sign([data.subarray(0, 3), data.subarray(3)]))).toBe(want)
      expect(await made.matches([data], ['00'.repeat(want.length / 2), want])).toBe(true)
      expect(await made.matches([data], [`00${want.slice(2)}`])).toBe(false)
    }
  })

  test('digests as FIPS 180-4 says', async () => {
    const abc = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
    expect(toHex(await sha256(utf8('abc')))).toBe(abc)
  })
})

test('verifies the vector of the Standard Webhooks specification', async () => {
  const delivery = {
    body: utf8('{"test": 2432232314}'),
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
  }
  const options = {
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    scheme: schemes.standardWebhooks(),
    now: () => new Date(1614265330_000),
  }
  expect(await verify(delivery, options)).toMatchObject({ ok: true })
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
  expect(await sign(delivery.body, { ...options, id })).toEqual(delivery.headers)
})

test("verifies the vector of GitHub's documentation", async () => {
  const scheme = schemes.define({
    name: 'github',
    header: 'X-Hub-Signature-256',
    algorithm: 'sha256',
    key: 'utf8',
    encoding: 'hex',
    grammar: { prefix: 'sha256=' },
    signed: '{body}',
  })
  const secret = "It's a Secret to Everybody"
  const signature = 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17'
  const headers = { 'X-Hub-Signature-256': signature }
  expect(await verify({ body: utf8('Hello, World!'), headers }, { secret, scheme })).toMatchObject({
    ok: true,
  })
  expect(await sign('Hello, World!', { secret, scheme })).toEqual({
    'x-hub-signature-256': signature,
  })
})
