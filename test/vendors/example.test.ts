import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { sign } from 'idv-webhooks'
import { vendors } from 'idv-webhooks/vendors'
import { expect, test, vi } from 'vitest'

test('the example serves three vendors with the same handlers', async () => {
  const secret = 'a-secret-of-thirty-two-characters'
  for (const name of ['ONFIDO', 'PERSONA', 'SUMSUB']) vi.stubEnv(`${name}_SECRET`, secret)
  vi.stubEnv('PORT', '0')
  const printed = vi.spyOn(console, 'log').mockImplementation(() => {})
  const { server } = await import('../../examples/vendors.ts')
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const post = async (path: string, vendor: ReturnType<typeof vendors.onfido>) => {
    const fixture = vendor.fixtures.find(({ name }) => name === 'verification.approved')
    const body = JSON.stringify(fixture?.body)
    const signed = await sign(body, { secret, scheme: vendor.scheme })
    const headers = { 'content-type': 'application/json', ...signed }
    const url = `http://127.0.0.1:${port}/webhooks/${path}`
    return (await fetch(url, { method: 'POST', body, headers })).status
  }
  for (const vendor of [vendors.onfido(), vendors.persona(), vendors.sumsub()]) {
    expect(await post(vendor.name, vendor)).toBe(200)
    expect(printed.mock.calls.flat().join('\n')).toContain(`${vendor.name} approved: `)
  }
  expect(await post('persona', vendors.onfido())).toBe(401)
  expect(await post('unknown', vendors.onfido())).toBe(404)
  server.closeAllConnections()
  server.close()
  vi.unstubAllEnvs()
  printed.mockRestore()
})

test('it uses no other secret for a vendor whose variable is missing', async () => {
  vi.resetModules()
  vi.stubEnv('WEBHOOK_SECRET', 'a-secret-of-thirty-two-characters')
  vi.stubEnv('PORT', '0')
  await expect(import('../../examples/vendors.ts')).rejects.toMatchObject({
    code: 'SECRET_INVALID',
  })
  vi.unstubAllEnvs()
})
