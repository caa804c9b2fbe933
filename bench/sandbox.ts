// How fast the sandbox answers, what it keeps in memory and how soon it is there, beside the least
// that any server must do: read a request and write the same bytes.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createSandbox } from 'idv-webhooks/sandbox'

const seconds = Number(process.env.SECONDS ?? 3)
const headers = { 'x-api-key': 'key_acme', 'content-type': 'application/json' }
const types = ['idv', 'kyc', 'share'] as const

type Sandbox = Awaited<ReturnType<typeof createSandbox>>

async function filled(count: number): Promise<Sandbox> {
  const sandbox = await createSandbox({ seed: 1, rateLimit: false, now: '2026-01-01T00:00:00Z' })
  for (let at = 0; at < count; at++) {
    const body = { type: types[at % 3], requirements: ['document'], subjectName: `Person ${at}` }
    await sandbox.fetch(
      new Request(`${sandbox.baseUrl}/verifications`, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      }),
    )
  }
  return sandbox
}

/** Requests per second of a fetch, one after the other. */
async function rate(fetch: (request: Request) => Promise<Response>, next: (at: number) => string) {
  const until = performance.now() + seconds * 1000
  let count = 0
  for (; performance.now() < until; count++) {
    const response = await fetch(new Request(next(count), { headers }))
    if (response.status !== 200) throw new Error(String(response.status))
    await response.arrayBuffer()
  }
  return Math.round(count / seconds)
}

if (process.argv[2] === 'memory') {
  const sandbox = await filled(100_000)
  const megabytes = (bytes: number) => `${Math.round(bytes / 1e6)} MB`
  const after = megabytes(process.memoryUsage().rss)
  await globalThis.gc?.({ type: 'major', execution: 'async', flavor: 'last-resort' })
  const { rss, heapUsed } = process.memoryUsage()
  console.log(
    `live ${megabytes(heapUsed)}, resident ${megabytes(rss)} (${after} before V8 gave back what it held in reserve)`,
  )
  await sandbox.close()
  process.exit()
}

const sandbox = await filled(10_000)
const list = `${sandbox.baseUrl}/verifications`
const page = await (await sandbox.fetch(new Request(`${list}?type=kyc`, { headers }))).text()
const least = await rate(
  async () => Response.json(JSON.parse(page)),
  () => list,
)
const cases: readonly (readonly [string, (at: number) => string])[] = [
  ['one filter, page after page', (at) => `${list}?type=kyc&page=${(at % 100) + 1}`],
  ['another search each time', (at) => `${list}?type=kyc&search=Person ${at % 9973}`],
]
console.log(`the same bytes, parsed and written   ${least}/s   1`)
for (const [name, next] of cases) {
  const found = await rate(sandbox.fetch, next)
  console.log(`${name.padEnd(36)} ${found}/s   ${(found / least).toFixed(2)}`)
}
await sandbox.close()

const here = fileURLToPath(import.meta.url)
const memory = spawn(process.execPath, ['--expose-gc', here, 'memory'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
const [megabytes] = await once(memory.stdout.setEncoding('utf8'), 'data')
console.log(`memory with 100,000 verifications    ${String(megabytes).trim()}`)

/** Milliseconds from the start of a process to its first line. */
async function start(args: readonly string[]): Promise<number> {
  const begun = performance.now()
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  const took = performance.now() - begun
  child.kill()
  await once(child, 'exit')
  return Math.round(took)
}
const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url))
const bare = await start(['-e', 'console.log(1)'])
const ready = await start([cli, 'sandbox', '--port', '0', '--json'])
console.log(
  `idv-webhooks sandbox ready after      ${ready} ms; a Node that does nothing ${bare} ms`,
)
