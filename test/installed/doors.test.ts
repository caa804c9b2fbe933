import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { describe, expect, inject, test } from 'vitest'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const { app, bare, tarball, nodes, bun, deno, workerd } = inject('installed')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>
  version: string
}
/** Doors that do not open without their optional peer. */
const needPeer = ['idv-webhooks/nest', 'idv-webhooks/opentelemetry']
const doors = Object.keys(manifest.exports)
  .filter((door) => door !== './package.json')
  .map((door) => door.replace(/^\./, 'idv-webhooks'))

/** Verifies, refuses and dispatches through the fetch adapter; prints what became of each. */
const program = `
import { createReceiver, sign } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
const secret = 'installed-secret'
export async function main() {
  const receiver = createReceiver({ secret })
  const names = []
  receiver.on('verification.approved', (event) => { names.push(event.name + ' ' + event.receivedName) })
  const handle = toFetch(receiver)
  const body = '{"id":"evt_1","event":"request.approved","data":{"id":"ver_1"}}'
  const post = async (text) => {
    const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
    const reply = await handle(new Request('http://app.test/', { method: 'POST', body: text, headers }))
    return reply.status
  }
  return JSON.stringify([await post(body), await post(body + ' '), names])
}
`
const expected = '[200,401,["verification.approved request.approved"]]'

describe('in an empty project', () => {
  test('the package brings what it says and nothing that runs an install script', async () => {
    const { packages } = JSON.parse(readFileSync(join(bare, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { hasInstallScript?: boolean }>
    }
    const names = Object.keys(packages).map((path) => path.replace(/^node_modules\//, ''))
    expect(names).toEqual(
      expect.arrayContaining(['idv-webhooks', 'raw-body', 'fastify-plugin', 'zod']),
    )
    expect(names.filter((name) => /express|^fastify$|next|hono/.test(name))).toEqual([])
    expect(Object.values(packages).filter((one) => one.hasInstallScript)).toEqual([])
  })

  test('the packed files are the built ones, the documents and the examples', async () => {
    const files = readdirSync(join(bare, 'node_modules/idv-webhooks'))
    const guides = ['ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', 'README.md']
    expect(files.sort()).toEqual([
      ...guides,
      'SECURITY.md',
      'dist',
      'docs',
      'examples',
      'llms-full.txt',
      'llms.txt',
      'package.json',
      'skills',
    ])
  })

  test.each([
    ['this Node', () => process.execPath],
    ['Node 22.18', () => nodes['22.18.0'] as string],
    ['Node 24', () => nodes['24.21.0'] as string],
  ])('every door opens by import and by require on %s', async (_, executable) => {
    const script = `
      const doors = process.argv.slice(2)
      const { createRequire } = await import('node:module')
      const require = createRequire(import.meta.url)
      const found = {}
      for (const door of doors) {
        const [imported, required] = [await import(door), require(door)]
        if (imported !== required && Object.keys(imported).sort().join() !== Object.keys(required).sort().join()) {
          throw new Error(door + ' differs')
        }
        found[door] = Object.keys(imported).length
      }
      console.log(JSON.stringify(found))`
    const free = doors.filter((door) => !needPeer.includes(door))
    for (const [cwd, wanted] of [[bare, free] as const, [app, needPeer] as const]) {
      writeFileSync(join(cwd, 'doors.mjs'), script)
      const { stdout } = await run(executable(), ['doors.mjs', ...wanted], { cwd })
      const found = JSON.parse(stdout) as Record<string, number>
      expect(Object.keys(found)).toEqual(wanted)
      expect(Object.values(found).every((count) => count > 0)).toBe(true)
    }
  })

  test('the core and the fetch adapter work on every Node, Bun and Deno', async () => {
    writeFileSync(join(bare, 'program.mjs'), program)
    writeFileSync(
      join(bare, 'run.mjs'),
      "import { main } from './program.mjs'\nconsole.log(await main())\n",
    )
    const commands: [string, string[]][] = [
      [process.execPath, ['run.mjs']],
      [nodes['22.18.0'] as string, ['run.mjs']],
      [nodes['24.21.0'] as string, ['run.mjs']],
      [bun, ['run', 'run.mjs']],
      [deno, ['run', '--no-remote', 'run.mjs']],
    ]
    for (const [command, args] of commands) {
      const { stdout, stderr } = await run(command, args, { cwd: bare })
      expect(`${command} ${stdout.trim()}${/error:|Error\b/.test(stderr) ? stderr : ''}`).toBe(
        `${command} ${expected}`,
      )
    }
  })
})

/** Keeps an event, crashes a handler, and ends with one effect; prints what became of it. */
const inboxProgram = `
import { mkdtempSync } from 'node:fs'
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
const secret = 'installed-secret'
const inbox = createInbox({
  store: sqliteStore(mkdtempSync('inbox-') + '/inbox.db'),
  retry: { attempts: 3, delays: [0] },
  encryption: { key: 'a1'.repeat(32) },
})
const receiver = createReceiver({ secret, inbox })
const counts = []
const handler = (event, { tx, attempt }) => {
  tx.exec('create table if not exists effects (attempt integer)')
  tx.prepare('insert into effects values (?)').run(attempt)
  counts.push(tx.prepare('select count(*) as n from effects').get().n)
  if (attempt === 1) throw new Error('later')
}
receiver.on('*', handler, { tx: true })
const body = new TextEncoder().encode('{"id":"evt_1","event":"request.approved","data":{"id":"ver_1"}}')
const headers = await sign(body, { secret })
const kinds = []
for (const _ of [1, 2]) kinds.push((await receiver.receive({ body, headers })).kind)
const report = await createWorker(receiver).runOnce()
const { done } = await inbox.stats()
console.log(JSON.stringify([kinds, report.retry, done, counts]))
`

test('the inbox on SQLite works on every Node, and lets the process end by itself', async () => {
  writeFileSync(join(bare, 'inbox.mjs'), inboxProgram)
  for (const node of [process.execPath, nodes['22.18.0'], nodes['24.21.0']] as string[]) {
    const { stdout } = await run(node, ['inbox.mjs'], { cwd: bare })
    expect(stdout.trim(), node).toBe('[["accepted","duplicate"],1,1,[1,1]]')
  }
})

test.each([
  ['workerd', ['workerd', 'worker', 'browser']],
  ['an edge runtime', ['edge-light']],
  ['a browser', ['browser']],
])('bundled for %s no node: import is left', async (_, conditions) => {
  writeFileSync(join(bare, 'program.mjs'), program)
  const { outputFiles } = await build({
    entryPoints: [join(bare, 'program.mjs')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions,
  })
  expect(outputFiles[0]?.text).toContain('crypto.subtle')
  expect(outputFiles[0]?.text).not.toMatch(/["']node:|require\(|createHmac/)
})

test('the client needs no node: module either', async () => {
  writeFileSync(join(bare, 'client.mjs'), "export * from 'idv-webhooks/client'\n")
  const { outputFiles } = await build({
    entryPoints: [join(bare, 'client.mjs')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
  })
  expect(outputFiles[0]?.text).not.toMatch(/["']node:|require\(/)
})

test('the bundle works in a real workerd', async () => {
  writeFileSync(join(bare, 'program.mjs'), program)
  const worker = `import { main } from './program.mjs'
    export default { fetch: async () => new Response(await main()) }`
  writeFileSync(join(bare, 'worker.mjs'), worker)
  await build({
    entryPoints: [join(bare, 'worker.mjs')],
    outfile: join(bare, 'bundled/worker.js'),
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
  })
  const config = `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = (
        modules = [(name = "worker", esModule = embed "worker.js")],
        compatibilityDate = "2026-01-01",
      ))],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
    );`
  writeFileSync(join(bare, 'bundled/config.capnp'), config)
  const args = ['serve', '--control-fd=3', 'config.capnp']
  const child = spawn(workerd, args, {
    cwd: join(bare, 'bundled'),
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  try {
    const [told] = (await once(child.stdio[3] as NodeJS.ReadableStream, 'data')) as [Buffer]
    const { port } = JSON.parse(told.toString()) as { port: number }
    const reply = await fetch(`http://127.0.0.1:${port}/`)
    expect(await reply.text()).toBe(expected)
  } finally {
    child.kill('SIGKILL')
  }
})

describe('the tarball', () => {
  test('passes publint in strict mode', async () => {
    const { publint } = await import('publint')
    const { messages } = await publint({
      pkgDir: join(bare, 'node_modules/idv-webhooks'),
      strict: true,
    })
    expect(messages).toEqual([])
  })

  test('resolves with its types everywhere (arethetypeswrong, ESM only)', async () => {
    const attw = join(root, 'node_modules/.bin/attw')
    // It exits with 1 when a door does not resolve; the JSON format knows no profile.
    const args = [attw, tarball, '--profile', 'esm-only', '--format', 'ascii', '--no-emoji']
    const { stdout } = await run(process.execPath, args)
    expect(stdout).toContain('idv-webhooks/express')
  })
})
