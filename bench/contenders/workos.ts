import { createHmac } from 'node:crypto'
import { WorkOS } from '@workos-inc/node'
import { secret } from '../deliveries.ts'
import type { SetUp } from './contender.ts'

export const setUp: SetUp = ({ body }) => {
  const { webhooks } = new WorkOS('sk_test_bench')
  const time = Date.now()
  const digest = createHmac('sha256', secret).update(`${time}.`).update(body).digest('hex')
  const sigHeader = `t=${time}, v1=${digest}`
  const tolerance = 24 * 3_600_000
  const run = async () =>
    !!(await webhooks.constructEvent({ payload: body as never, sigHeader, secret, tolerance }))
  return [{ group: 'verify + parse', name: '@workos-inc/node', run }]
}
