// Three vendors, one set of handlers: each vendor at its own path, with its own secret.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createReceiver } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import { type Vendor, vendors } from 'idv-webhooks/vendors'

/** Without its secret, a vendor throws here. */
function mounted(vendor: Vendor, secret: string | undefined) {
  const receiver = createReceiver({ vendor, secret })
  receiver.on('verification.approved', (event) => {
    console.log(`${event.vendor} approved: ${event.data.id}`)
  })
  return toNode(receiver)
}

const routes = new Map([
  ['/webhooks/onfido', mounted(vendors.onfido(), process.env.ONFIDO_SECRET)],
  ['/webhooks/persona', mounted(vendors.persona(), process.env.PERSONA_SECRET)],
  ['/webhooks/sumsub', mounted(vendors.sumsub(), process.env.SUMSUB_SECRET)],
])

export const server = createServer((request, response) => {
  const route = routes.get(request.url ?? '')
  if (route) route(request, response)
  else response.writeHead(404).end()
})
server.listen(Number(process.env.PORT ?? 3000), () => {
  console.log(`listening on port: ${(server.address() as AddressInfo).port}`)
})
