// Fastify 5, encapsulated: sibling routes keep their own body parsing.
import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { checkNoOptions, checkReceiver, type HandlesRequests, mountError } from './mount.ts'
import { sendReply, toIncoming } from './node.ts'
import { drainOnceSent, ignoreErrors, isRead } from './unread.ts'

const fix =
  'the body was parsed before the receiver: register toFastify(receiver) as its own plugin, without preParsing hooks or raw-body plugins that read the stream'

/** Options of the plugin: the path of the webhook, e.g. '/webhooks'. */
export interface FastifyMountOptions {
  readonly path: string
}

/**
 * A Fastify plugin that owns one path; methods other than POST are answered with 405.
 *
 * @example await app.register(toFastify(receiver), { path: '/webhooks' })
 */
export function toFastify(receiver: HandlesRequests, ...options: readonly never[]) {
  checkReceiver({ toFastify }, receiver)
  const where = "the path is an option of app.register(toFastify(receiver), { path: '/webhooks' })"
  checkNoOptions({ toFastify }, options, where)
  const noPath = mountError({ toFastify }, `needs a path: ${where}`)
  const mount = async (app: FastifyInstance, { path }: FastifyMountOptions) => {
    if (typeof path !== 'string') throw noPath
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, payload, done) => done(null, ignoreErrors(payload)))
    // Fastify would wait without limit for the rest of a rejected request.
    app.addHook('onSend', async ({ raw }, reply) => drainOnceSent(raw, reply.raw))
    app.all(path, async (request, reply) => {
      const stream = (request.body ?? request.raw) as Readable
      const answer = await receiver.handle(toIncoming(request.raw, { fix, stream }))
      if (isRead(request.raw) && !reply.raw.headersSent) {
        return reply.code(answer.status).headers(answer.headers).send(answer.body)
      }
      // Fastify ends a response at once, and a sender that still writes would never read it.
      const headers = { ...reply.getHeaders(), ...answer.headers } as typeof answer.headers
      sendReply(request.raw, reply.hijack().raw, { ...answer, headers })
    })
  }
  return fastifyPlugin(mount, { fastify: '5.x', name: 'idv-webhooks', encapsulate: true })
}
