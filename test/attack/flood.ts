// Many refused requests at once, while genuine deliveries go on.
import { Agent, request } from 'node:http'
import { madeUp } from './bombs.ts'
import type { Target } from './target.ts'

export interface FloodOptions {
  readonly requests: number
  readonly connections: number
  /** Milliseconds after which the flood ends, whatever was sent. */
  readonly most: number
}

export interface Flood {
  readonly sent: number
  readonly perSecond: number
  readonly statuses: Readonly<Record<number, number>>
  /** Milliseconds that the genuine deliveries took meanwhile, and their statuses. */
  readonly genuine: readonly { readonly status: number; readonly took: number }[]
}

export async function flood(target: Target, options: FloodOptions): Promise<Flood> {
  const { requests, connections, most } = options
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const body = Buffer.from(JSON.stringify({ event: 'verification.approved', x: 'x'.repeat(2_000) }))
  const statuses: Record<number, number> = {}
  const start = performance.now()
  const end = start + most
  let sent = 0
  const connection = async () => {
    while (sent < requests && performance.now() < end) {
      sent++
      const status = await refused(target, agent, body)
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  const flooding = Promise.all(Array.from({ length: connections }, connection))
  const genuine: { status: number; took: number }[] = []
  let isOver = false
  flooding.finally(() => {
    isOver = true
  })
  while (!isOver) {
    genuine.push(await target.deliver())
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await flooding
  agent.destroy()
  const perSecond = sent / ((performance.now() - start) / 1_000)
  return { sent, perSecond, statuses, genuine }
}

function refused({ port }: Target, agent: Agent, body: Buffer): Promise<number> {
  const headers = {
    'content-type': 'application/json',
    'content-length': body.length,
    'x-service-signature': madeUp('service'),
  }
  return new Promise((resolve) => {
    const sent = request(
      { port, agent, host: '127.0.0.1', path: '/webhooks', method: 'POST', headers },
      (response) => {
        response.resume()
        response.on('end', () => resolve(response.statusCode ?? 0))
      },
    )
    sent.on('error', () => resolve(0))
    sent.end(body)
  })
}
