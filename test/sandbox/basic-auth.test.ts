import type { RequestListener } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/testing/replay.ts'
import { minimal } from './conformance-rows.ts'
import { caller, openSandbox } from './open-sandbox.ts'

/** What a listener gets from a subscription with this user in its address, and what is shown. */
async function deliveredTo(user: string) {
  const users: (string | undefined)[] = []
  const keep: RequestListener = ({ headers }, response) => {
    users.push(headers.authorization)
    response.end()
  }
  const { url, close } = await listen(keep)
  onTestFinished(close)
  const hook = `${url.replace('//', `//${user}@`)}/hooks`
  const sandbox = await openSandbox({ subscriptions: [{ url: hook }] })
  onTestFinished(() => sandbox.close())
  await caller(sandbox.url, sandbox.fetch)('POST', '/v2/api/verifications', { body: minimal })
  await sandbox.flush()
  const shown = sandbox.deliveries.list().map(({ id }) => sandbox.deliveries.get(id))
  return { url, users, attempts: shown.flatMap((one) => one?.attempts ?? []) }
}

test.each([
  ['hook%20user:p%C3%A4ss', 'hook user:päss'],
  ['user:100%', 'user:100%'],
  ['user', 'user:'],
])(
  'a delivery to an address with the user %s is sent as that user, and shows nothing of it',
  async (user, plain) => {
    const { url, users, attempts } = await deliveredTo(user)
    const basic = Buffer.from(plain).toString('base64')
    expect(users).toEqual([`Basic ${basic}`])
    expect(attempts.map(({ request }) => request.url)).toEqual([`${url}/hooks`])
    for (const secret of [`${user}@`, basic]) expect(JSON.stringify(attempts)).not.toContain(secret)
  },
)
