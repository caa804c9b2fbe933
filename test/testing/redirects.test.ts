import type { RequestListener } from 'node:http'
import { capture, replay, signedDelivery } from 'idv-webhooks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/testing/listen.ts'

async function redirecting(status: number) {
  const reached: string[] = []
  const app: RequestListener = ({ url }, response) => {
    reached.push(url ?? '')
    if (url === '/webhooks') response.writeHead(status, { location: '/login' })
    response.end()
  }
  const { url, close } = await listen(app)
  onTestFinished(close)
  return { url: `${url}/webhooks`, reached }
}

test.each([302, 307])('a replay follows no redirect by %i, as senders do not', async (status) => {
  const { url, reached } = await redirecting(status)
  const report = await replay(url, [await capture(await signedDelivery({ id: 'evt_1' }))])
  expect(report).toMatchObject({ taken: 0, failed: 1, results: [{ status }] })
  expect(reached).toEqual(['/webhooks'])
})
