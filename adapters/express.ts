// Express 4 and 5.
import type { ServerResponse } from 'node:http'
import { checkNoOptions, checkReceiver, type HandlesRequests } from './mount.ts'
import { type NodeRequest, sendReply, toIncoming } from './node.ts'

const fix =
  "the body was parsed before the receiver: mount it before express.json(), e.g. app.post('/webhooks', toExpress(receiver)) above app.use(express.json())"

/**
 * An Express handler.
 *
 * @example app.post('/webhooks', toExpress(receiver)) // above app.use(express.json())
 */
export function toExpress(receiver: HandlesRequests, ...options: readonly never[]) {
  checkReceiver({ toExpress }, receiver)
  checkNoOptions({ toExpress }, options)
  return (
    request: NodeRequest,
    response: ServerResponse,
    next: (error?: unknown) => void,
  ): void => {
    receiver
      .handle(toIncoming(request, { fix }))
      .then((reply) => sendReply(request, response, reply))
      .catch(next)
  }
}
