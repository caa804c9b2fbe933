import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign as signBytes,
} from 'node:crypto'
import { type SchemeDefinition, schemes, sign, verify } from 'idv-webhooks'
import { privateKey, publicKey } from 'idv-webhooks/keys'
import { describe, expect, test } from 'vitest'

const utf8 = new TextEncoder()
const body = utf8.encode('{"event":"client.created","data":{"id":"cli_1"}}')
const define = (change: Partial<SchemeDefinition>) =>
  schemes.define({
    name: 'keys',
    header: 'X-Sig',
    algorithm: 'ed25519',
    key: 'hex',
    encoding: 'hex',
    grammar: 'plain',
    signed: '{body}',
    ...change,
  })
const told = async (
  scheme: ReturnType<typeof define>,
  secret: string | Uint8Array,
  sent: { body: Uint8Array; header: string },
) => {
  const headers = { [scheme.header]: sent.header }
  const result = await verify({ body: sent.body, headers }, { secret: publicKey(secret), scheme })
  return result.ok || result.code
}

/** RFC 8037, appendix A: the key of A.1 and A.2, the text and the signature of A.4. */
const rfc8037 = {
  x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
  d: 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A',
  input: 'eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc',
  signature:
    'hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
}

/** RFC 8032, section 7.1: tests 1 to 3. */
const rfc8032 = [
  {
    key: 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    message: '',
    signature:
      'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  },
  {
    key: '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    message: '72',
    signature:
      '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  },
  {
    key: 'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    message: 'af82',
    signature:
      '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  },
]

test.each(rfc8032)('the Ed25519 vector of RFC 8032 for the message "$message"', async (vector) => {
  const sent = { body: Buffer.from(vector.message, 'hex'), header: vector.signature }
  expect(await told(define({}), vector.key, sent)).toBe(true)
  const more = { ...sent, body: Buffer.from(`${vector.message}00`, 'hex') }
  expect(await told(define({}), vector.key, more)).toBe('SIGNATURE_MISMATCH')
  const [other] = rfc8032.filter(({ key }) => key !== vector.key)
  expect(await told(define({}), other?.key ?? '', sent)).toBe('SIGNATURE_MISMATCH')
})

test('a receiver with a key that is no key refuses with its own fault, in every runtime', async () => {
  const secret = Buffer.from('AAAA'.repeat(30), 'base64').toString('base64')
  const scheme = define({ algorithm: 'rs256', key: 'base64' })
  const header = 'ab'.repeat(256)
  const code = await told(scheme, secret, { body, header }).catch((error) => error.code)
  expect(['SECRET_INVALID', 'SECRET_UNAVAILABLE']).toContain(code)
})

describe('the Ed25519 vector of RFC 8037', () => {
  const scheme = define({ encoding: 'base64url' })
  const hex = (text: string) => Buffer.from(text, 'base64url').toString('hex')
  const bytes = utf8.encode(rfc8037.input)

  test('verifies with the raw key, and with no bit of either changed', async () => {
    const sent = { body: bytes, header: rfc8037.signature }
    expect(await told(scheme, hex(rfc8037.x), sent)).toBe(true)
    const changed = Uint8Array.from(bytes, (byte, at) => (at === 9 ? byte ^ 1 : byte))
    expect(await told(scheme, hex(rfc8037.x), { ...sent, body: changed })).toBe(
      'SIGNATURE_MISMATCH',
    )
    const header = `A${rfc8037.signature.slice(1)}`
    expect(await told(scheme, hex(rfc8037.x), { ...sent, header })).toBe('SIGNATURE_MISMATCH')
  })

  test('is what sign() makes of its private key', async () => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: rfc8037.x, d: rfc8037.d }
    const key = createPrivateKey({ key: jwk, format: 'jwk' })
    const pem = key.export({ format: 'pem', type: 'pkcs8' }).toString()
    const headers = await sign(bytes, { secret: privateKey(pem), scheme })
    expect(headers['x-sig']).toBe(rfc8037.signature)
  })
})

/** RFC 7515, appendices A.2 (RS256) and A.3 (ES256): one payload, two keys. */
const payload =
  'eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ'
const rfc7515 = {
  rs256: {
    jwk: {
      kty: 'RSA',
      n: 'ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ',
      e: 'AQAB',
    },
    input: `eyJhbGciOiJSUzI1NiJ9.${payload}`,
    signature:
      'cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw',
  },
  es256: {
    jwk: {
      kty: 'EC',
      crv: 'P-256',
      x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
      y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
    },
    input: `eyJhbGciOiJFUzI1NiJ9.${payload}`,
    signature:
      'DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q',
  },
} as const

describe.each(['rs256', 'es256'] as const)('the %s vector of RFC 7515', (algorithm) => {
  const { jwk, input, signature } = rfc7515[algorithm]
  const scheme = define({ algorithm, key: 'pem', encoding: 'base64url' })
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const bytes = utf8.encode(input)

  test('verifies with the key as PEM and as DER, and with no bit changed', async () => {
    const pem = key.export({ format: 'pem', type: 'spki' }).toString()
    const der = key.export({ format: 'der', type: 'spki' })
    const sent = { body: bytes, header: signature }
    expect(await told(scheme, pem, sent)).toBe(true)
    expect(await told(scheme, der, sent)).toBe(true)
    const changed = Uint8Array.from(bytes, (byte, at) => (at === 9 ? byte ^ 1 : byte))
    expect(await told(scheme, pem, { ...sent, body: changed })).toBe('SIGNATURE_MISMATCH')
    const header = signature.replace(/^./, 'E')
    expect(await told(scheme, pem, { ...sent, header })).toBe('SIGNATURE_MISMATCH')
  })
})

describe('keys of another kind', () => {
  const spki = { format: 'der', type: 'spki' } as const
  const keys = {
    ed25519: generateKeyPairSync('ed25519').publicKey.export(spki),
    es256: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export(spki),
    rs256: generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export(spki),
    'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export(spki),
    'RSA of 1024 bits': generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export(spki),
    x25519: generateKeyPairSync('x25519').publicKey.export(spki),
  }

  test.each(
    (['ed25519', 'es256', 'rs256'] as const).flatMap((algorithm) =>
      Object.entries(keys)
        .filter(([kind]) => kind !== algorithm)
        .map(([kind, der]) => [kind, algorithm, der] as const),
    ),
  )('%s under %s does not start', async (_, algorithm, der) => {
    const scheme = define({ algorithm, key: 'base64', encoding: 'base64' })
    const sent = { body, header: Buffer.alloc(64).toString('base64') }
    const error = await told(scheme, der.toString('base64'), sent).catch((caught) => caught)
    expect(error).toMatchObject({ code: 'SECRET_INVALID' })
  })

  test.each(['', 'x', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----'])(
    'text that is none (%j) does not start',
    async (secret) => {
      const scheme = define({ algorithm: 'es256', key: 'pem', encoding: 'base64' })
      const sent = { body, header: Buffer.alloc(64).toString('base64') }
      const error = await told(scheme, secret, sent).catch((caught) => caught)
      expect(error).toMatchObject({ code: 'SECRET_INVALID' })
    },
  )
})

test('P-256 signatures are taken as two numbers and as DER, and nothing else', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const scheme = define({ algorithm: 'es256', key: 'pem', encoding: 'base64' })
  const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
  for (let round = 0; round < 20; round += 1) {
    const bytes = utf8.encode(`${round}`)
    const der = signBytes('sha256', bytes, privateKey)
    const pair = signBytes('sha256', bytes, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    for (const form of [der, pair]) {
      const header = form.toString('base64')
      expect(await told(scheme, pem, { body: bytes, header })).toBe(true)
    }
    const longer = Buffer.concat([der, Buffer.of(0)]).toString('base64')
    expect(await told(scheme, pem, { body: bytes, header: longer })).not.toBe(true)
  }
  for (const zeros of [8, 64, 72]) {
    const header = Buffer.alloc(zeros).toString('base64')
    expect(await told(scheme, pem, { body, header })).toBe('SIGNATURE_MISMATCH')
  }
})

test('a forgery costs four checks of a key, not sixteen', async () => {
  const [vector] = rfc8032
  const given = { body: new Uint8Array(), genuine: vector?.signature ?? '', key: vector?.key ?? '' }
  const wrong = (count: number) => Array<string>(count).fill('00'.repeat(64))
  const verdict = (header: readonly string[]) =>
    told(define({}), given.key, { body: given.body, header: header.join(',') })
  expect(await verdict([...wrong(3), given.genuine])).toBe(true)
  expect(await verdict([...wrong(4), given.genuine])).toBe('SIGNATURE_MALFORMED')
})

test('a private key signs, and the public one verifies', async () => {
  for (const [algorithm, pair] of [
    ['ed25519', generateKeyPairSync('ed25519')],
    ['es256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['rs256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
  ] as const) {
    const scheme = define({ algorithm, key: 'pem', encoding: 'base64' })
    const own = privateKey(pair.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString())
    const open = publicKey(pair.publicKey.export({ format: 'pem', type: 'spki' }).toString())
    const headers = await sign(body, { secret: own, scheme })
    expect(await verify({ body, headers }, { secret: open, scheme })).toMatchObject({ ok: true })
    await expect(sign(body, { secret: open, scheme })).rejects.toThrow('cannot sign')
    const result = await verify({ body, headers }, { secret: own, scheme })
    expect(result).toMatchObject({ code: 'SECRET_UNAVAILABLE' })
  }
})

test('a text instead of a public key does not start, and says what to do', async () => {
  const scheme = define({ algorithm: 'es256', key: 'pem' })
  const verifying = verify({ body, headers: {} }, { secret: 'a text', scheme })
  await expect(verifying).rejects.toThrow(
    "publicKey(text), with publicKey from 'idv-webhooks/keys'",
  )
  const shared = verify({ body, headers: {} }, { secret: publicKey('a text') })
  await expect(shared).rejects.toMatchObject({ code: 'SECRET_INVALID' })
})
