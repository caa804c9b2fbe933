// Programs that the tests start, and signed deliveries to them.
import { type ChildProcess, spawn } from 'node:child_process'
import { request } from 'node:http'
import { sign } from 'idv-webhooks'
import { afterEach } from 'vitest'

export const secret = 'installed-secret'

export interface Starting {
  readonly command?: string
  readonly cwd: string
  readonly env?: Record<string, string>
  /** The line that it prints when it is ready. */
  readonly ready: RegExp
}

const children: ChildProcess[] = []
afterEach(() => {
  for (const { pid } of children.splice(0)) {
    try {
      // With what it started itself, such as the server of `next dev`.
      if (pid !== undefined) process.kill(-pid, 'SIGKILL')
    } catch {
      // It has ended already.
    }
  }
})

/** Starts a program; `started` resolves once it is ready, and all of them end with their test. */
export function start(args: readonly string[], options: Starting) {
  const { command = process.execPath, cwd, env = {}, ready } = options
  const child = spawn(command, args, {
    cwd,
    detached: true,
    env: {
      ...process.env,
      PORT: '0',
      WEBHOOK_SECRET: secret,
      NEXT_TELEMETRY_DISABLED: '1',
      ...env,
    },
  })
  children.push(child)
  let printed = ''
  const waiting: [RegExp, (printed: string) => void][] = []
  const take = (chunk: Buffer) => {
    printed += chunk
    for (const [pattern, resolve] of waiting) if (pattern.test(printed)) resolve(printed)
  }
  child.stdout?.on('data', take)
  child.stderr?.on('data', take)
  const until = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      if (pattern.test(printed)) resolve(printed)
      waiting.push([pattern, resolve])
      child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${printed}`)))
    })
  return { child, until, started: until(ready), printed: () => printed }
}

/** The bytes of an event, or bytes as they are. */
function bytesOf(event: object | Uint8Array): Uint8Array<ArrayBuffer> {
  if (event instanceof Uint8Array) return new Uint8Array(event)
  return new TextEncoder().encode(JSON.stringify(event))
}

/** Delivers an event: the status, and the outcome or code of the reply. */
export async function deliver(url: string, event: object, { forged = false } = {}) {
  const body = bytesOf(event)
  const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
  const sent = forged ? new Uint8Array([...body, 32]) : body
  const reply = await fetch(url, { method: 'POST', body: sent, headers })
  const text = await reply.text()
  const { outcome, code } = text.startsWith('{') ? JSON.parse(text) : { code: text }
  return `${reply.status} ${outcome ?? code}`
}

/** Delivers an event, and resets the connection when `leaving` resolves. */
export async function deliverAndLeave(url: string, event: object, leaving: () => Promise<void>) {
  const body = bytesOf(event)
  const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
  const sent = request(url, { method: 'POST', headers })
  sent.on('error', () => {})
  sent.end(body)
  await leaving()
  sent.socket?.resetAndDestroy()
}

/** The statuses of an event as it is, and with one byte more than was signed. */
export async function post(url: string, event: object): Promise<number[]> {
  const replies = [await deliver(url, event), await deliver(url, event, { forged: true })]
  return replies.map((reply) => Number.parseInt(reply, 10))
}
