import { describe, expect, test } from 'vitest'
import { rewriteSource } from '../../../tools/cli/migrate/code/rewrite.ts'

const compares = "if (JSON.parse(body).event === 'request.approved') approve()"
const proves = "const own = createHmac('sha256', secret).update(body).digest('hex')"
const hmac = `import { createHmac } from 'node:crypto'\n${proves}`

describe('a receiver that does not use this package', () => {
  test.each([
    hmac,
    "const CryptoJS = require('crypto-js')\nCryptoJS.HmacSHA256(body, secret)",
    "import { hmac as mac } from '@noble/hashes/hmac'\nmac(sha256, secret, body)",
    "const sha = require('hmac-sha256')\nsha(body, secret)",
    "import forge from 'node-forge'\nconst own = forge.hmac.create()",
    "new KJUR.crypto.Mac({ alg: 'HmacSHA256', pass: secret })",
    "new Bun.CryptoHasher('sha256', secret)",
    "import { check } from './verify'\ncheck(body, request.headers['x-service-signature'])",
    `// TODO: use 'idv-webhooks'\n${hmac}`,
    `import type { EventName } from 'idv-webhooks'\n${hmac}`,
    `import { type EventName, eventNames } from 'idv-webhooks/protocol'\n${hmac}`,
    `import { createClient } from 'idv-webhooks/client'\n${hmac}`,
    `import { schemes, verify } from 'idv-webhooks'\nawait verify(body, headers, { secret })`,
    `const { verify } = await import('idv-webhooks')\nawait verify(body, headers, { secret })`,
    `import { isWebhookError, verify } from 'idv-webhooks'\nawait verify(body, headers, { secret })`,
    `import { verify } from 'idv-webhooks'\nimport { senders } from 'idv-webhooks/vendors'\nverify()`,
    `import * as idv from 'idv-webhooks'\nawait idv.verify(body, headers, { secret })`,
    `const idv = require('idv-webhooks')\nidv.verify(body, headers, { secret })`,
    `import { isWebhookError } from 'idv-webhooks'\n${hmac}`,
    `import { capture } from 'idv-webhooks/testing'\n${hmac}`,
  ])('is left as it is, and reported: %s', (receiver) => {
    const text = `${receiver}\n${compares}`
    const { output, findings } = rewriteSource(text, 'server.ts')
    expect(output).toBe(text)
    const suggestion = expect.stringContaining('createReceiver() first')
    expect(findings).toMatchObject([{ kind: 'receiver', suggestion }])
  })

  test.each([
    `import { createReceiver } from 'idv-webhooks'\n${hmac}`,
    `import { parse, verify } from 'idv-webhooks'\n${hmac}`,
    `import { toExpress } from 'idv-webhooks/express'\n${hmac}`,
    `import { canonicalName } from 'idv-webhooks/protocol'\n${hmac}`,
    `const { createReceiver } = require('idv-webhooks')\n${hmac}`,
    `const webhooks = await import('idv-webhooks')\nwebhooks.createReceiver({ secret })\n${hmac}`,
    `import * as idv from 'idv-webhooks'\nidv.createReceiver({ secret })\nidv.verify(one, two)`,
    "const sent = { 'x-service-signature': signature }",
    "// like createHmac('sha256', secret)",
  ])('is renamed like any other file once it uses the package, or proves nothing: %s', (file) => {
    const { output } = rewriteSource(`${file}\n${compares}`, 'server.ts')
    expect(output).toContain("'verification.approved'")
  })
})
