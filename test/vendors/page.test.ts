// docs/vendors.md: what is generated in it is up to date, and its receivers can be created.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver } from 'idv-webhooks'
import { publicKey } from 'idv-webhooks/keys'
import { type Vendor, vendors } from 'idv-webhooks/vendors'
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

test('the page shows how the vendors are mounted that need more than a secret', () => {
  const [, shown = ''] = /^## Each vendor\n.*?^```ts\n(.*?)^```$/ms.exec(page) ?? []
  const secret = 'a-secret-of-thirty-two-characters'
  const process = { env: { WEBHOOK_SECRET: secret } }
  const plaidKeys = publicKey(vendorsByHand.plaid?.secret)
  const mounted = new Set<string>()
  const create = (options: Parameters<typeof createReceiver>[0]) => {
    mounted.add(options.vendor?.name ?? '')
    return createReceiver(options)
  }
  const names = ['createReceiver', 'vendors', 'process', 'plaidKeys']
  new Function(...names, shown)(create, vendors, process, plaidKeys)
  const needMore = Object.entries(vendors).filter(([, make]) => {
    try {
      createReceiver({ vendor: (make as () => Vendor)(), secret })
      return false
    } catch {
      return true
    }
  })
  expect([...mounted].sort()).toEqual(needMore.map(([name]) => name).sort())
})
