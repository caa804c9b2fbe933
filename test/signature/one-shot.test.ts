import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { OneShotHmac } from '../../src/signature/hmac/one-shot.ts'

const bytes = (hex: string) => Buffer.from(hex, 'hex')

/** RFC 4231, section 4: test cases 1, 2, 3, 4 and 6. */
const vectors = [
  {
    key: '0b'.repeat(20),
    data: Buffer.from('Hi There').toString('hex'),
    sha256: 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
  },
  {
    key: Buffer.from('Jefe').toString('hex'),
    data: Buffer.from('what do ya want for nothing?').toString('hex'),
    sha256: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  },
  {
    key: 'aa'.repeat(20),
    data: 'dd'.repeat(50),
    sha256: '773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe',
  },
  {
    key: '0102030405060708090a0b0c0d0e0f10111213141516171819',
    data: 'cd'.repeat(50),
    sha256: '82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b',
  },
  {
    key: 'aa'.repeat(131),
    data: Buffer.from('Test Using Larger Than Block-Size Key - Hash Key First').toString('hex'),
    sha256: '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
  },
] as const

test.each(vectors)('computes the digests of RFC 4231: $data', ({ key, data, sha256 }) => {
  expect(new OneShotHmac(bytes(key), 'sha256').hex([bytes(data)])).toBe(sha256)
})

test('agrees with the HMAC of node:crypto for keys and messages of any length, one after another', () => {
  const algorithm = fc.constantFrom('sha1' as const, 'sha256' as const, 'sha512' as const)
  const secret = fc.uint8Array({ minLength: 1, maxLength: 300 })
  // Around the first room (1 KB) and the longest message that is copied (16 KB).
  const length = fc.oneof(
    fc.nat(3_000),
    fc.integer({ min: 16_380, max: 16_390 }),
    fc.integer({ min: 40_000, max: 40_010 }),
  )
  const message = fc.tuple(length, fc.nat(255), fc.nat(2_999))
  fc.assert(
    fc.property(algorithm, secret, fc.array(message, { maxLength: 6 }), (name, key, messages) => {
      const hmac = new OneShotHmac(key, name)
      for (const [size, fill, split] of messages) {
        const body = Buffer.alloc(size, fill)
        const parts = [body.subarray(0, split), body.subarray(split)]
        expect(hmac.hex(parts)).toBe(createHmac(name, key).update(body).digest('hex'))
      }
    }),
    { numRuns: 300 },
  )
})

test('a key that its owner overwrites later stays the key', () => {
  const secret = Buffer.from('a-secret-of-yours')
  const expected = createHmac('sha256', secret).update('body').digest('hex')
  const hmac = new OneShotHmac(secret, 'sha256')
  secret.fill(0)
  expect(hmac.hex([Buffer.from('body')])).toBe(expected)
})
