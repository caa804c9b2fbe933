// Next.js: App Router and Pages Router.
import type { ServerResponse } from 'node:http'
import { answer } from './answer.ts'
import { toFetch } from './fetch.ts'
import {
  checkMount,
  checkReceiver,
  endRefused,
  type FetchMountOptions,
  runAfterReply,
  type WorkerMountOptions,
  workerOptions,
} from './mount.ts'
import { type HandlesRequests, type NodeRequest, sendReply, toIncoming } from './node.ts'

const fix =
  'Next.js parsed the body before the receiver: add export const config = { api: { bodyParser: false } } beside the default export'

/**
 * A route handler of the App Router.
 *
 * @example export const POST = toNext(receiver)
 */
export function toNext(receiver: HandlesRequests, options: FetchMountOptions = {}) {
  checkReceiver({ toNext }, receiver)
  checkMount({ toNext }, options)
  const handle = toFetch(receiver, options)
  return async (...given: Parameters<typeof handle>) => endRefused(await handle(...given))
}

/**
 * An API route of the Pages Router.
 *
 * @example export default toNextPages(receiver); export const config = { api: { bodyParser: false } }
 */
export function toNextPages(receiver: HandlesRequests, options: WorkerMountOptions = {}) {
  checkReceiver({ toNextPages }, receiver)
  checkMount({ toNextPages }, options, workerOptions)
  return async (request: NodeRequest, response: ServerResponse): Promise<void> => {
    const handled = receiver.handle(toIncoming(request, { fix }))
    const { status } = await answer(handled, (reply) => sendReply(request, response, reply))
    runAfterReply(status, options)
  }
}
