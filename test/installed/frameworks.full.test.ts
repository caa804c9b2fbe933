import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

const run = promisify(execFile)
const { bun, tarball } = inject('installed')
const page = readFileSync(resolve(import.meta.dirname, '../../docs/frameworks.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'idv-frameworks-'))
afterAll(() => rm(folder, { recursive: true, force: true }), 60_000)

const packages = [
  ...['h3@2.0.8', 'h3-1@npm:h3@1.15.11', 'elysia@1.4.30', '@adonisjs/http-server@9.3.1'],
  ...['react-router@8.5.1', 'react@19.3.1', 'react-dom@19.3.1'],
  ...['@sveltejs/kit@3.2.0', 'svelte@5.57.3', 'vite@8.3.8'],
  ...['typescript@6.0.3', '@types/node@22.20.5', '@types/react@19.3.0'],
]

/** The recipes by their headings: the file that the page names, with its text. */
const recipes = new Map(
  [...page.matchAll(/^## (\w[\w ]*)\n(?:(?!^## ).)*?^`([^`\n]+)`\n\n```ts\n(.*?)```/gms)].map(
    ([, name = '', path = '', code = '']) =>
      [name, { path: join(name.toLowerCase().replaceAll(' ', '-'), path), code }] as const,
  ),
)

/** The receiver that the recipes import, and where each has it. */
const [, receiver = ''] = /^`receiver\.ts`\n\n```ts\n(.*?)```/ms.exec(page) ?? []
const besideOf = (path: string, code: string) => {
  const [, beside = ''] = /from '(\.\S*receiver)(?:\.js)?'/.exec(code) ?? []
  return `${join(dirname(path), beside)}.ts`
}

beforeAll(async () => {
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  write('package.json', '{"private":true,"type":"module"}')
  // Both versions of h3 are there; Nuxt has the first.
  for (const [name, { path, code }] of recipes) {
    // Node runs the files without the bundler that finds them by a name without an ending.
    const found = code.replace(/(from '\.\S*receiver)(?:\.js)?'/, "$1.ts'")
    write(path, name === 'Nuxt' ? found.replace("from 'h3'", "from 'h3-1'") : found)
    write(besideOf(path, code), receiver)
  }
  write('sveltekit/package.json', '{"private":true,"type":"module"}')
  write('sveltekit/src/app.html', '<html><body>%sveltekit.head%%sveltekit.body%</body></html>')
  write(
    'sveltekit/vite.config.js',
    "import { sveltekit } from '@sveltejs/kit/vite'\nexport default { plugins: [sveltekit()] }\n",
  )
  write('drive.ts', driver)
  const options = ['--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, tarball, ...packages], { cwd: folder })
  symlinkSync('../node_modules', join(folder, 'sveltekit/node_modules'))
}, 180_000)

test('every recipe compiles in strict mode against its framework', async () => {
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, target: 'es2023', module: 'esnext' },
    ...{ moduleResolution: 'bundler', types: ['node'], allowImportingTsExtensions: true },
    // @adonisjs/core passes on what this package exports.
    paths: { '@adonisjs/core/http': ['./node_modules/@adonisjs/http-server'] },
  }
  const files = [...recipes.values()].map(({ path }) => path)
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const failed = (error: { readonly stdout: string }) => error
  const tsc = 'node_modules/typescript/bin/tsc'
  const { stdout } = await run(process.execPath, [tsc], { cwd: folder }).catch(failed)
  expect(stdout).toBe('')
})

test('every recipe takes a signed delivery in its framework, and refuses a forged one', async () => {
  const { WEBHOOK_SECRET: _, ...env } = process.env
  const vite = ['../node_modules/vite/bin/vite.js', 'build', '--logLevel', 'error']
  await run(process.execPath, vite, { cwd: join(folder, 'sveltekit'), env })
  const driving = { cwd: folder, env: { ...process.env, BUN: bun } }
  const { stdout } = await run(process.execPath, ['drive.ts'], driving)
  const lines = stdout.trim().split('\n')
  const names = [...recipes.keys()]
  const served = ['Nuxt', 'AdonisJS']
  const taken = (name: string) => [
    'approved: ver_42',
    `${name}: 200 {"outcome":"handled"} 401 SIGNATURE_MISMATCH`,
  ]
  expect(names).toEqual(['SvelteKit', 'React Router', 'Nuxt', 'Nitro', 'Elysia', 'AdonisJS'])
  expect(lines).toEqual(
    names.flatMap((name) => [
      ...taken(name),
      ...(served.includes(name) ? [`${name}, too long: 413`] : []),
      ...(name === 'Nuxt' ? taken('Nuxt, off Node') : []),
    ]),
  )
})

/** Puts each recipe into its framework, as small as the framework really goes. */
const driver = `
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { sign } from 'idv-webhooks'
const secret = 'secret-of-the-frameworks'
process.env.WEBHOOK_SECRET = secret

async function drive(name, handle, origin = 'http://app.test') {
  const body = '{"id":"evt_1","event":"verification.approved","data":{"id":"ver_42"}}'
  const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
  const send = (sent) =>
    handle(new Request(origin + '/webhooks', { method: 'POST', body: sent, headers }))
  const good = await send(body)
  const forged = await send(body + ' ')
  console.log(name + ':', good.status, await good.text(), forged.status, (await forged.json()).code)
}

/**
 * A body without a stated length, from an unauthenticated client: an uncaught error would end the
 * process.
 */
async function tooLong(origin) {
  const headers = { 'x-service-signature': 'f'.repeat(64), 'content-type': 'application/json' }
  const sent = request(origin + '/webhooks', { method: 'POST', headers })
  sent.on('error', () => {})
  const answered = once(sent, 'response')
  for (let part = 0; part < 48; part++) sent.write('x'.repeat(65_536))
  const [{ statusCode }] = await answered
  await new Promise((resolve) => setTimeout(resolve, 100))
  sent.destroy()
  return statusCode
}

async function serve(name, listener) {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const origin = 'http://127.0.0.1:' + server.address().port
  await drive(name, fetch, origin)
  console.log(name + ', too long:', await tooLong(origin))
  server.closeAllConnections()
  server.close()
}

const { Server } = await import('./sveltekit/.svelte-kit/output/server/index.js')
const { manifest } = await import('./sveltekit/.svelte-kit/output/server/manifest.js')
const kit = new Server(manifest)
await kit.init({ env: process.env })
await drive('SvelteKit', (request) => kit.respond(request, { getClientAddress: () => '127.0.0.1' }))

const { createRequestHandler } = await import('react-router')
const action = await import('./react-router/app/routes/webhooks.ts')
const root = { id: 'root', path: '', module: { default: () => null } }
const route = { id: 'webhooks', parentId: 'root', path: 'webhooks', module: action }
const assets = { entry: { module: '', imports: [] }, routes: {}, url: '', version: '' }
const build = {
  ...{ entry: { module: { default: () => new Response() } }, routes: { root, webhooks: route } },
  ...{ assets, publicPath: '/', assetsBuildDirectory: '', future: {}, ssr: true, isSpaMode: false },
  ...{ prerender: [], routeDiscovery: { mode: 'initial' } },
}
await drive('React Router', createRequestHandler(build, 'production'))

const { createApp, createRouter, toNodeListener, toWebHandler } = await import('h3-1')
const nuxtRoute = (await import('./nuxt/server/routes/webhooks.post.ts')).default
const nuxt = createApp().use(createRouter().post('/webhooks', nuxtRoute))
await serve('Nuxt', toNodeListener(nuxt))
await drive('Nuxt, off Node', toWebHandler(nuxt))

const { H3 } = await import('h3')
const nitro = new H3().post('/webhooks', (await import('./nitro/routes/webhooks.post.ts')).default)
await drive('Nitro', async (request) => nitro.fetch(request))

const bun = spawn(process.env.BUN, ['src/index.ts'], {
  ...{ cwd: 'elysia', stdio: ['ignore', 'pipe', 'inherit'] },
  env: { ...process.env, PORT: '0' },
})
let said = ''
const until = (pattern) =>
  new Promise((resolve, reject) => {
    const look = () => pattern.exec(said) && resolve(pattern.exec(said))
    bun.stdout.on('data', (part) => {
      said += part
      look()
    })
    bun.once('exit', () => reject(new Error('Bun ended: ' + said)))
    look()
  })
try {
  const [, url] = await until(/^listening on (http\\S+?)\\/?$/m)
  const handle = async (request) => {
    const reply = await fetch(request)
    if (reply.ok) console.log((await until(/^approved: .*$/m))[0])
    return reply
  }
  await drive('Elysia', handle, url)
} finally {
  bun.kill()
}

const { ServerFactory } = await import('@adonisjs/http-server/factories')
const { Application } = await import('@adonisjs/application')
const app = new Application(new URL('./', import.meta.url), { environment: 'web', importer() {} })
await app.init()
const adonis = new ServerFactory().merge({ app }).create()
adonis.use([() => import('./adonisjs/app/middleware/webhooks_middleware.ts')])
class BodyParser {
  async handle({ request }, next) {
    for await (const _ of request.request);
    return next()
  }
}
adonis.getRouter().use([async () => ({ default: BodyParser })])
adonis.getRouter().post('/webhooks', () => 'the route of nobody')
await adonis.boot()
await serve('AdonisJS', adonis.handle.bind(adonis))
`
