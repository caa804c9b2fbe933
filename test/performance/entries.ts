// Counts the functions of the package that one warm delivery enters on the main thread, by V8's
// precise coverage: the count is the same on every machine. Prints JSON; `--list` names them.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { Session } from 'node:inspector/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import express from 'express'
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const secret = 'a-secret-of-this-count'
const dist = pathToFileURL(join(import.meta.dirname, '../../dist/')).href
const agent = new Agent({ keepAlive: true })
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** Entries by function since the last call. */
async function entries(): Promise<Map<string, number>> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const counted = new Map<string, number>()
  for (const { url, functions } of result) {
    if (!url.startsWith(dist)) continue
    for (const { functionName, ranges } of functions) {
      const [range] = ranges
      // A module is a function too, without a name at the begin of its file.
      const isModule = functionName === '' && range?.startOffset === 0
      if (!range || range.count === 0 || isModule) continue
      const name = `${functionName || '(anonymous)'} ${url.slice(dist.length)}:${range.startOffset}`
      counted.set(name, range.count)
    }
  }
  return counted
}

async function send(port: number, id: string): Promise<void> {
  const data = { id: `ver_${id}` }
  const event = { id, event: 'request.approved', createdAt: '2026-01-01T00:00:00Z', data }
  const body = Buffer.from(JSON.stringify(event))
  const headers = {
    ...{ 'content-type': 'application/json', 'content-length': body.length },
    ...(await sign(body, { secret })),
  }
  const options = { agent, host: '127.0.0.1', port, path: '/webhooks', method: 'POST', headers }
  await entries()
  const sent = request(options).end(body)
  const [response] = await once(sent, 'response')
  await once(response.resume(), 'end')
}

/** The fewest entries of a warm delivery: a timer of the package may fall into one of them. */
async function measure(inbox?: ReturnType<typeof createInbox>, isWorked = false): Promise<number> {
  const receiver = createReceiver({ secret, ...(inbox && { inbox }) })
  receiver.on('verification.approved', async () => {}, { id: 'counted' })
  const worker = isWorked ? createWorker(receiver) : undefined
  await worker?.start()
  const server = express().post('/webhooks', toExpress(receiver)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  let fewest = new Map<string, number>()
  for (let at = 0; at < 10; at++) {
    await sleep(inbox ? 300 : 10)
    await send(port, `${inbox ? 'kept' : 'plain'}-${at}`)
    await sleep(inbox ? 100 : 10)
    const counted = await entries()
    if (at > 5 && (fewest.size === 0 || sum(counted) < sum(fewest))) fewest = counted
  }
  if (process.argv.includes('--list')) console.error(fewest)
  await worker?.drain({ grace: 500 })
  server.close()
  return sum(fewest)
}

const sum = (counted: ReadonlyMap<string, number>) =>
  [...counted.values()].reduce((all, count) => all + count, 0)

async function measureKept(isWorked: boolean): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'entries-'))
  const inbox = createInbox({ store: sqliteStore(join(folder, 'inbox.db')) })
  try {
    return await measure(inbox, isWorked)
  } finally {
    await inbox.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const plain = await measure()
const kept = await measureKept(false)
const settled = await measureKept(true)
agent.destroy()
console.log(JSON.stringify({ plain, kept, settled }))
