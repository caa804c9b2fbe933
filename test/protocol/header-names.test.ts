// Names of events that stand in a header.
import { createReceiver, type Scheme, schemes } from 'idv-webhooks'
import { cloudEvents } from 'idv-webhooks/protocol'
import { signedDelivery } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'

const secret = 'a-secret-of-headers'

test('a name in a header is proved only if the scheme signs that header', async () => {
  const body = '{"id":"ver_1"}'
  const plain = schemes.service()
  const signing = schemes.define({ ...plain, signed: '{header:ce-type}.{body}' })
  const resent = async (scheme: Scheme) => {
    const headers = { 'ce-specversion': '1.0', 'ce-type': 'verification.rejected' }
    const signed = await signedDelivery(body, { secret, scheme, headers })
    const receiver = createReceiver({ secret, scheme, envelope: cloudEvents }).on('*', () => {})
    const kind = async (name: string) => {
      const changed = new Headers(signed.headers)
      changed.set('ce-type', name)
      return (await receiver.receive({ ...signed, headers: changed })).kind
    }
    return [await kind('verification.rejected'), await kind('verification.approved')]
  }
  expect(await resent(plain)).toEqual(['handled', 'handled'])
  expect(await resent(signing)).toEqual(['handled', 'rejected'])
})
