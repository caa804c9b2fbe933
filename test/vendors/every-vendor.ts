// Every vendor there is; what signs nothing is known by the given addresses.
import { type AddressOptions, type Vendor, vendors } from 'idv-webhooks/vendors'

export function everyVendor(addresses: AddressOptions): readonly Vendor[] {
  const { jumio, smileId, ...signing } = vendors
  const others = [smileId({ partnerId: '2000' }), jumio(addresses)]
  return [...Object.values(signing).map((make) => make()), ...others]
}
