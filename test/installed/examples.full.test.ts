import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { sign } from 'idv-webhooks'
import { createClient } from 'idv-webhooks/client'
import { createSandbox } from 'idv-webhooks/sandbox'
import { beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { pageAt } from './console-page.ts'
import { post, secret, start as startIn } from './program.ts'

const root = resolve(import.meta.dirname, '../..')
const { app, tarball } = inject('installed')
const examples = join(root, 'examples')

beforeAll(() => cpSync(examples, join(app, 'examples'), { recursive: true }))

const start = (args: readonly string[], ready: RegExp, env: Record<string, string> = {}) =>
  startIn(args, { cwd: join(app, 'examples'), ready, env })

const event = (name: string) => ({ id: 'evt_1', event: name, data: { id: 'ver_42' } })

test('every example is short enough to read at a glance', () => {
  const files = readdirSync(examples, { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
    const lines = readFileSync(join(examples, file), 'utf8').trimEnd().split('\n')
    expect(lines.length, file).toBeLessThanOrEqual(30)
  }
})

test('the examples compile in strict mode against the packed types', () => {
  const options = [
    '--strict',
    '--noEmit',
    '--allowImportingTsExtensions',
    '--skipLibCheck',
    '--module',
    'esnext',
    '--moduleResolution',
    'bundler',
    '--target',
    'es2023',
    '--jsx',
    'preserve',
    '--types',
    'node',
  ]
  const files = readdirSync(join(app, 'examples'), { recursive: true, encoding: 'utf8' })
    .filter(
      (name) =>
        /\.tsx?$/.test(name) &&
        !/\.test\.ts$|^tests\//.test(name) &&
        !name.includes('.next') &&
        !name.includes('next-env'),
    )
    .map((name) => join('examples', name))
  const tsc = join(app, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc, ...options, ...files], { cwd: app, stdio: 'inherit' })
})

/** As a project of Nest CLI 12 does: strictly, to ES modules. */
function compileNestGuide(cwd: string): void {
  const guide = readFileSync(join(root, 'docs/frameworks.md'), 'utf8')
  mkdirSync(join(cwd, 'src'))
  for (const [, shown = '', file = ''] of guide.matchAll(/```ts\n(\/\/ (src\/\S+)\n.*?)```/gs)) {
    // The port cannot be known otherwise.
    const said = '$&\n  console.log(app.getHttpServer().address())'
    writeFileSync(join(cwd, file), shown.replace(/await app\.listen\(.*\)/, said))
  }
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2023', strict: true, isolatedModules: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, skipLibCheck: true },
    ...{ types: ['node'], typeRoots: [join(app, 'node_modules/@types')] },
    ...{ rootDir: 'src', outDir: 'dist' },
  }
  writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
  const tsc = join(app, 'node_modules/typescript/bin/tsc')
  execFileSync(process.execPath, [tsc], { cwd, stdio: 'inherit' })
}

describe('the example for', () => {
  test.each(['express', 'fastify', 'hono', 'koa', 'nest', 'opentelemetry'])(
    '%s receives real deliveries',
    async (name) => {
      const { until, started } = start([`${name}.ts`], /listening .*port: (\d+)/s)
      const port = /port: (\d+)/.exec(await started)?.[1]
      const replies = await post(
        `http://127.0.0.1:${port}/webhooks`,
        event('verification.approved'),
      )
      expect(replies).toEqual([200, 401])
      await until(/approved: ver_42/)
    },
  )

  test('nest receives them on Nest 12, too, and so does the application of the guide', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'idv-nest-12-'))
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
    writeFileSync(join(cwd, 'package.json'), '{"private":true,"type":"module"}')
    cpSync(join(examples, 'nest.ts'), join(cwd, 'nest.ts'))
    const nest = ['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@12.5.1`)
    const packages = [tarball, ...nest, 'reflect-metadata@0.2.2', 'rxjs@7.8.2']
    execFileSync('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages], {
      cwd,
      stdio: 'pipe',
    })
    const { until, started } = startIn(['nest.ts'], { cwd, ready: /listening .*port: (\d+)/s })
    const port = /port: (\d+)/.exec(await started)?.[1]
    const url = `http://127.0.0.1:${port}/webhooks`
    expect(await post(url, event('verification.approved'))).toEqual([200, 401])
    await until(/approved: ver_42/)
    compileNestGuide(cwd)
    const guide = startIn(['dist/main.js'], { cwd, ready: /port: (\d+)/ })
    const own = /port: (\d+)/.exec(await guide.started)?.[1]
    const replies = await post(`http://127.0.0.1:${own}/webhooks`, event('verification.approved'))
    expect(replies).toEqual([202, 401])
    await guide.until(/approved: ver_42/)
  })

  test('an inbox answers once an event is kept, handles it, ends at SIGTERM, and goes on from there', async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'idv-inbox-'))
    onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
    const ready = /listening .*port: (\d+)/s
    const begin = () => startIn([join(app, 'examples/inbox.ts')], { cwd, ready })
    const { child, until, started } = begin()
    const port = /port: (\d+)/.exec(await started)?.[1]
    const url = `http://127.0.0.1:${port}/webhooks`
    expect(await post(url, event('verification.approved'))).toEqual([202, 401])
    await until(/approved: ver_42 \(attempt 1\)/)
    expect(await post(url, event('verification.approved'))).toEqual([200, 401])
    child.kill('SIGTERM')
    expect((await once(child, 'exit'))[0]).toBe(0)
    const next = /port: (\d+)/.exec(await begin().started)?.[1]
    const again = await post(`http://127.0.0.1:${next}/webhooks`, event('verification.approved'))
    expect(again).toEqual([200, 401])
  })

  test('reconcile finds what never came, lets its handler read the truth, and ends', async () => {
    const sandbox = await createSandbox({ seed: 7, now: new Date(Date.now() - 10 * 60_000) })
    onTestFinished(() => sandbox.close())
    const { baseUrl, apiKey } = await sandbox.listen().then(() => sandbox)
    const api = createClient({ baseUrl, apiKey })
    const { id } = await api.verifications.create({ type: 'kyc', requirements: ['consent'] })
    await sandbox.act(id, ['start', 'submit', 'approve'])
    const env = { IDV_BASE_URL: baseUrl, IDV_API_KEY: apiKey }
    const { child, until, started } = start(['reconcile.ts'], /reconciled .*fed: 3/s, env)
    await started
    await until(new RegExp(`approved: ${id} by reconcile, score \\d+`))
    child.kill('SIGTERM')
    expect((await once(child, 'exit'))[0]).toBe(0)
    // The next start finds the changes of the time while the app was down, from the end of the last
    // run.
    const mark = JSON.parse(readFileSync(join(app, 'examples/inbox.db.watermark'), 'utf8'))
    expect(Object.keys(mark)).toEqual(['verifications', 'clients', 'deletions'])
    await api.clients.create({ nameFirst: 'Ada' })
    await start(['reconcile.ts'], /reconciled .*missing: 1,\s+fed: 1/s, env).started
  })

  test('a legacy subscriber counts what still arrives under the old name', async () => {
    const { until, started } = start(['legacy-subscriber.ts'], /listening .*port: (\d+)/s)
    const port = /port: (\d+)/.exec(await started)?.[1]
    expect(await post(`http://127.0.0.1:${port}/`, event('request.approved'))).toEqual([200, 401])
    await until(/approved: ver_42 \(arrived as request\.approved\)/)
    await until(/still arriving: request\.approved \(1\)/)
  })

  test('any fetch runtime answers a Request', async () => {
    process.env.WEBHOOK_SECRET = secret
    const file = join(examples, 'fetch.ts')
    const { default: server } = (await import(file)) as {
      default: { fetch(request: Request): Promise<Response> }
    }
    const body = JSON.stringify(event('verification.approved'))
    const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
    const reply = await server.fetch(
      new Request('http://a.test/', { method: 'POST', body, headers }),
    )
    expect(reply.status).toBe(200)
  })
})

/** The requests of the console's pages, on an inbox with one entry. */
async function consoleAt(url: string) {
  const { headers, page, html, ask } = await pageAt(url)
  const [entry] = (await ask('/entries')).items
  expect(entry.name).toBe('verification.approved')
  const revealed = await fetch(`${url}/api/entries/${entry.id}/reveal`, {
    method: 'POST',
    headers: {
      ...headers,
      cookie: page.headers.get('set-cookie')?.split(';')[0] ?? '',
      'x-console-token': /"token":"([\w-]+)"/.exec(html)?.[1] ?? '',
    },
  })
  expect(Buffer.from((await revealed.json()).body, 'base64').toString()).toContain('ver_42')
  const { data } = await ask('/activity')
  expect(data).toMatchObject([{ action: 'reveal', what: entry.id, by: 'grace' }])
}

describe('the console, mounted in', () => {
  test.each(['express', 'fastify', 'hono'])(
    '%s, shows the inbox to its operators',
    async (name) => {
      const INBOX = join(app, `console-${name}.db`)
      const args = [`console-${name}.ts`]
      const env = { INBOX, NODE_ENV: 'production' }
      const { until, started } = start(args, /listening .*port: (\d+)/s, env)
      const port = /port: (\d+)/.exec(await started)?.[1]
      const url = `http://127.0.0.1:${port}`
      expect(await post(`${url}/webhooks`, event('verification.approved'))).toEqual([202, 401])
      await until(/verification\.approved: ver_42/)
      await consoleAt(`${url}/inbox`)
    },
  )

  test('Express on one’s own machine, needs no proxy and answers no other name', async () => {
    const env = { INBOX: join(app, 'console-own.db'), NODE_ENV: 'development' }
    const { started } = start(['console-express.ts'], /listening .*port: (\d+)/s, env)
    const url = `http://127.0.0.1:${/port: (\d+)/.exec(await started)?.[1]}/inbox`
    expect((await fetch(url)).status).toBe(200)
    const rebound = await new Promise((resolve) => {
      get(url, { headers: { host: 'evil.example' } }, ({ statusCode }) => resolve(statusCode))
    })
    expect(rebound).toBe(403)
  })
})

test('the example for Lambda answers the event of a function URL', async () => {
  process.env.WEBHOOK_SECRET = secret
  const { handler } = (await import(join(examples, 'lambda.ts'))) as {
    handler(event: object): Promise<{ statusCode: number; body: string }>
  }
  const body = JSON.stringify(event('verification.approved'))
  const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
  const requestContext = { http: { method: 'POST', sourceIp: '203.0.113.9' } }
  const invoked = { rawPath: '/', headers, requestContext, body, isBase64Encoded: false }
  expect(await handler(invoked)).toMatchObject({ statusCode: 200 })
  expect(await handler({ ...invoked, body: `${body} ` })).toMatchObject({ statusCode: 401 })

  // The bundle that the guide makes exports it beside a package.json of ES modules, too.
  const guide = readFileSync(join(root, 'docs/lambda.md'), 'utf8')
  const [, command = ''] = /`npx esbuild ([^`]+)`/.exec(guide) ?? []
  const cwd = join(app, 'examples')
  const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd }).toString()
  execFileSync(join(app, 'node_modules/.bin/esbuild'), command.split(' '), { cwd, stdio: 'pipe' })
  const [, program = ''] = /^```mjs\n(\/\/ try\.mjs\n.*?)^```/ms.exec(guide) ?? []
  writeFileSync(join(cwd, 'try.mjs'), program)
  expect(run('try.mjs')).toBe('approved: ver_42\n200 {"outcome":"handled"}\n')

  // Its source map is what makes the place of an error one of the file.
  const throwing = readFileSync(join(cwd, 'lambda.ts'), 'utf8').replace(
    'console.log',
    'throw Error',
  )
  writeFileSync(join(cwd, 'lambda.ts'), throwing)
  execFileSync(join(app, 'node_modules/.bin/esbuild'), command.split(' '), { cwd, stdio: 'pipe' })
  const [, option = ''] = /`NODE_OPTIONS=(\S+)`/.exec(guide) ?? []
  const { stderr } = spawnSync(process.execPath, [option, 'try.mjs'], {
    ...{ cwd, encoding: 'utf8' as const },
    env: { ...process.env, NODE_ENV: 'production' },
  })
  expect(stderr).toMatch(/HANDLER_FAILED.* Error at .*lambda\.ts:8:\d+/)
})
