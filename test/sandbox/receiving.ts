// A real receiver on a port, and what became of everything that it was sent.
import { createReceiver, type Observation, type ReceiverOptions } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import { recordHandlers } from 'idv-webhooks/testing'
import { listen } from '../../src/testing/replay.ts'

export const secret = 'a-secret-of-the-tests'

export async function receiving(options: Partial<ReceiverOptions> = {}) {
  const seen: Observation[] = []
  const receiver = createReceiver({ secret, observe: (one) => seen.push(one), ...options })
  const recorder = recordHandlers(receiver)
  const { url, close } = await listen(toNode(receiver))
  const outcomes = () =>
    seen.flatMap((one) => (one.type === 'outcome' ? [one.code ?? one.kind] : []))
  return { url, close, recorder, outcomes }
}

/** A listener that answers from a list of answers, then 200; it keeps what it was sent. */
export async function answering(
  answers: readonly { status: number; headers?: Record<string, string> }[] = [],
) {
  const bodies: string[] = []
  const signatures: string[] = []
  const left = [...answers]
  const { url, close } = await listen(
    async (
      request: AsyncIterable<Buffer> & { headers: Record<string, string> },
      response: { writeHead(status: number, headers?: object): { end(): void } },
    ) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      bodies.push(Buffer.concat(chunks).toString())
      signatures.push(request.headers['x-service-signature'] ?? '')
      const { status, headers } = left.shift() ?? { status: 200 }
      response.writeHead(status, headers).end()
    },
  )
  return { url, close, bodies, signatures }
}
