import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { edge, exercise, expected } from './exercise.ts'
import { start } from './program.ts'
import { servingWorker } from './workerd.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const { app, bare, nodes, bun, deno, workerds } = inject('installed')
const folder = join(bare, 'matrix')

beforeAll(() => cpSync(join(import.meta.dirname, 'matrix'), folder, { recursive: true }))

const files = ['--allow-read', '--allow-write', '--allow-sys=statfs']

type Command = readonly [command: string, ...args: string[]]

const runtimes: Readonly<Record<string, Command>> = {
  'Node 22.18': [nodes['22.18.0'] as string],
  'Node 24': [nodes['24.21.0'] as string],
  'Node 26': [process.execPath],
  Bun: [bun, 'run'],
  // Nothing but the network and the inbox's file is allowed.
  Deno: [deno, 'run', '--no-prompt', '--no-remote', '--allow-net', ...files],
}
const each = Object.entries(runtimes).map(([name, command]) => ({ name, command }))

/** Exercises a program of the matrix; its log must hold no fault of the package's own. */
async function exerciseProgram([command, ...args]: Command, ...program: string[]) {
  const ready = /port: (\d+)/
  const { started, until, printed } = start([...args, ...program], { command, cwd: folder, ready })
  const became = await exercise(`http://127.0.0.1:${ready.exec(await started)?.[1]}/`)
  await until(/IDV_HANDLER_FAILED/)
  expect(printed()).not.toContain('IDV_OBSERVE_FAILED')
  return became
}

describe('a receiver at module scope does all that it promises', () => {
  test.each(each.filter(({ name }) => name.startsWith('Node')))(
    'on $name, over node:http and over fetch',
    async ({ command }) => {
      for (const mount of ['node', 'fetch']) {
        expect(await exerciseProgram(command, 'node.mjs', mount), mount).toEqual(expected)
      }
    },
  )

  test('on Bun', async () => {
    expect(await exerciseProgram(runtimes.Bun as Command, 'bun.mjs')).toEqual(expected)
  })

  test('on Deno', async () => {
    expect(await exerciseProgram(runtimes.Deno as Command, 'deno.mjs')).toEqual(expected)
  })

  test('on workerd', async () => {
    const outfile = join(folder, 'bundled/worker.js')
    await build({
      entryPoints: [join(folder, 'worker.mjs')],
      outfile,
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      mainFields: ['module', 'main'],
      // A bundle for development, which contains the diagnosis of refusals.
      conditions: ['workerd', 'worker', 'browser', 'development'],
      // As `wrangler dev` writes it.
      define: { 'process.env.NODE_ENV': '"development"' },
    })
    const cwd = join(folder, 'bundled')
    for (const workerd of workerds) {
      for (const flags of ['', '"nodejs_compat"']) {
        const { url, printed } = await servingWorker({ workerd, cwd, flags })
        expect(await exercise(url), workerd).toEqual(expected)
        await expect.poll(printed).toMatch(/IDV_HANDLER_FAILED.*Error: broken/)
        await expect.poll(printed).toMatch(/IDV_SIGNATURE_MISMATCH.*serialised differently/)
        // The warning of the error ends with the handler's own frames.
        expect(printed()).not.toMatch(/callWebhookHandler|#report/)
      }
    }
  })
})

test.each(each)(
  'the inbox on SQLite works on $name, closes without a word, is moved and lets the process end',
  async ({ command: [command, ...args] }) => {
    for (const ending of ['close', 'leave']) {
      const ran = await run(command, [...args, 'inbox.mjs', ending], { cwd: folder })
      const kinds = '["accepted","duplicate","accepted"]'
      const moved = ending === 'close' ? ',2' : ''
      const operated = `[1,1,{"erased":0,"deleted":0}${moved}]`
      expect(ran.stdout.trim(), ending).toBe(`[${kinds},1,1,[1,1],${operated}]`)
      // Node 22 says that its SQLite is experimental.
      expect(ran.stderr.replaceAll(/^.*ExperimentalWarning.*$|^\(Use `node.*$|\n/gm, '')).toBe('')
    }
  },
)

test.each(each)(
  'a second process of an inbox on $name hears that another one owns it',
  async ({ command: [command, ...args] }) => {
    // A folder of its own: the process of the row before may not have ended yet.
    const own = mkdtempSync(join(folder, 'owned-'))
    const program = [...args, '../owned.mjs']
    const { started } = start(program, { command, cwd: own, ready: /opened/ })
    await started
    const { stdout } = await run(command, program, { cwd: own, timeout: 30_000 })
    expect(stdout.trim()).toBe('STORE_OWNED')
  },
)

test('the documents name these runtimes and no others', () => {
  const text = readFileSync(join(root, 'docs/runtimes.md'), 'utf8')
  const rows = [...text.matchAll(/^\| (?!runtime|-)(.*?) \|/gm)].map(([, name]) => name)
  expect(rows).toEqual([...Object.keys(runtimes), 'workerd (Cloudflare Workers)', edge])
})

test('Node 20 is told in one sentence by every door', async () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>
  }
  // idv-webhooks/cli has types alone.
  const doors = Object.keys(manifest.exports).filter(
    (door) => !/^\.\/(package\.json|cli)$/.test(door),
  )
  const script = `
    import { createRequire } from 'node:module'
    const require = createRequire(import.meta.url)
    const said = {}
    for (const door of process.argv.slice(2)) {
      for (const open of [(name) => import(name), async (name) => require(name)]) {
        const error = await open(door).then(() => new Error('it opens'), (thrown) => thrown)
        ;(said[error.code + ': ' + (error.reason ?? error.message)] ??= []).push(door)
      }
    }
    console.log(JSON.stringify(said))`
  writeFileSync(join(app, 'old-node.mjs'), script)
  const names = doors.map((door) => door.replace(/^\./, 'idv-webhooks'))
  const { stdout } = await run(nodes['20.20.2'] as string, ['old-node.mjs', ...names], { cwd: app })
  const sentence =
    'RUNTIME_UNSUPPORTED: idv-webhooks needs Node 22.18 or newer, and this is 20.20.2'
  const said = JSON.parse(stdout) as Record<string, string[]>
  expect(Object.keys(said)).toEqual([sentence])
  expect(new Set(said[sentence])).toEqual(new Set(names))
})
