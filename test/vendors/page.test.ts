// docs/vendors.md: what is generated in it is up to date, and its receivers can be created.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver } from 'idv-webhooks'
import { publicKey } from 'idv-webhooks/keys'
import { vendors } from 'idv-webhooks/vendors'
import { expect, test } from 'vitest'
import { withGenerated } from '../../scripts/vendors-page.ts'
import { vendorsByHand } from './by-hand.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/vendors.md'), 'utf8')

test('the page is what node scripts/vendors-page.ts writes', () => {
  expect(withGenerated(page)).toBe(page)
})

test('a page without the marks is rejected', () => {
  expect(() => withGenerated('# Vendors')).toThrow('no marks')
})

test('the receiver of each vendor is created as the page shows it', () => {
  const shown = [...page.matchAll(/^```ts\n(createReceiver\(\{.*?^\}\))\n```/gms)]
  const env = new Proxy({}, { get: () => 'a-secret-of-thirty-two-characters' })
  const plaidKeys = publicKey(vendorsByHand.plaid?.secret)
  const made = shown.map(([, code]) => {
    const names = ['createReceiver', 'vendors', 'process', 'plaidKeys']
    return new Function(...names, `return ${code}`)(createReceiver, vendors, { env }, plaidKeys)
  })
  expect(made).toHaveLength(Object.keys(vendors).length)
  for (const receiver of made) expect(receiver).toHaveProperty('receive')
})
