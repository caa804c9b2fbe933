// Shared by browser tests: a sandbox on a port, and pages that are closed at the end.
import { createSandbox } from 'idv-webhooks/sandbox'
import { afterEach } from 'vitest'
import { openPage } from './chromium.ts'

const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Ends something after the test, the latest first. */
export function afterwards(close: () => unknown): void {
  closing.push(close)
}

/** A page that is closed after the test. */
export async function opened(look?: Parameters<typeof openPage>[0]) {
  const one = await openPage(look)
  afterwards(one.close)
  return one
}

interface Made {
  readonly id: string
  readonly accessToken: string
}

/** A sandbox on a port whose deliveries are all taken, and a caller of its API. */
export async function sandboxOnPort() {
  const sandbox = await createSandbox({
    seed: 1,
    rateLimit: false,
    subscriptions: [{ url: 'http://app.test/webhooks' }],
    fetch: async () => Response.json({ outcome: 'handled' }),
  })
  afterwards(() => sandbox.close())
  const { url } = await sandbox.listen()
  const api = (
    path: string,
    { body, key = sandbox.apiKey }: { body?: object; key?: string } = {},
  ) =>
    sandbox.fetch(`${sandbox.baseUrl}${path}`, {
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  const verification = async (body: object = {}) => {
    const given = { type: 'idv', requirements: ['document'], ...body }
    const response = await api('/verifications', { body: given })
    return (await response.json()) as Made
  }
  return { sandbox, url, api, verification }
}
