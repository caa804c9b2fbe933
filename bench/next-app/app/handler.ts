import { eventSchemas } from 'idv-webhooks/protocol'
import { makeRoute } from '../../servers/fetch'
import type { FetchHandler, Way } from '../../servers/route'

export const sample = {
  body: Buffer.alloc(0),
  signature: '',
  schema: eventSchemas['verification.approved'],
  handler: (event: unknown) => event !== undefined,
}

export async function handlerOf(way: Way): Promise<FetchHandler> {
  const route = await makeRoute(way, sample)
  if (!route || !('fetch' in route)) throw new Error(`there is no route of ${way}`)
  return route.fetch
}
