import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { post, start } from './program.ts'

const run = promisify(execFile)
const { bare, nodes, tarball } = inject('installed')
const examples = join(import.meta.dirname, '../../examples')
const base = mkdtempSync(join(tmpdir(), 'idv-common-js-'))
afterAll(() => rm(base, { recursive: true, force: true }), 60_000)

const compilers = { '5.4': '5.4.5', '5.9': '5.9.3', '6.0': '6.0.3', '7.0': '7.0.2' } as const
const zod = 'zod@3.23.8'

/** The programs in CommonJS of a guide. */
function shownIn(page: string): readonly string[] {
  const guide = readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
  return [...guide.matchAll(/^```cjs\n(.*?)^```/gms)].map(([, shown = '']) => shown)
}

/** A CommonJS application of the classic kind: zod 3, Jest, and whatever TypeScript. */
const app = join(base, 'app')
beforeAll(async () => {
  cpSync(join(import.meta.dirname, 'common-js'), app, { recursive: true })
  for (const type of ['cts', 'mts']) {
    cpSync(join(app, 'consumer.ts'), join(app, `consumer.${type}`))
  }
  writeFileSync(join(app, 'package.json'), '{"private":true}')
  // The tests that the guide shows, of an application such as it names.
  for (const [at, shown] of shownIn('docs/testing.md').entries()) {
    const [, name = `guide-${at}.test.cjs`] = /^\/\/ (\S+\.js)\n/.exec(shown) ?? []
    writeFileSync(join(app, name), shown)
  }
  // The applications of the guide: NestJS has its files below src, Next.js at the root.
  const guide = readFileSync(join(import.meta.dirname, '../../docs/frameworks.md'), 'utf8')
  for (const [, shown = '', file = ''] of guide.matchAll(/^```ts\n(\/\/ (\S+\.ts)\b.*?)^```/gms)) {
    const path = join(app, 'typed', file.startsWith('src/') ? 'nest' : 'next', file)
    mkdirSync(dirname(path), { recursive: true })
    // The port cannot be known otherwise.
    const said = '$&\n  console.log(app.getHttpServer().address())'
    writeFileSync(path, shown.replace(/await app\.listen\(.*\)/, said))
  }
  for (const file of ['fetch.test.ts', 'lambda.test.ts', 'next.test.ts', 'nest.e2e-spec.ts']) {
    const [name = ''] = file.split('.')
    const path = join(app, 'typed', name, 'test', file)
    mkdirSync(dirname(path), { recursive: true })
    const shown = readFileSync(join(examples, 'tests', file), 'utf8')
    writeFileSync(path, shown.replace("from 'vitest'", "from '@jest/globals'"))
  }
  for (const name of ['fetch', 'lambda']) {
    cpSync(join(examples, `${name}.ts`), join(app, 'typed', name, `${name}.ts`))
  }
  const typescripts = Object.entries(compilers).map(
    ([name, version]) => `typescript-${name}@npm:typescript@${version}`,
  )
  const others = [zod, 'jest@30.5.2', 'express@5.3.0', 'supertest@7.3.2', '@types/node@22.20.5']
  others.push('@types/jest@30.0.0', '@types/supertest@7.2.0', 'reflect-metadata@0.2.2')
  const nest = ['common@11.2.10', 'core@11.2.10', 'platform-express@11.2.10', 'testing@11.2.6']
  others.push('rxjs@7.8.2', ...nest.map((name) => `@nestjs/${name}`))
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error']
  await run('npm', ['install', ...options, tarball, ...others, ...typescripts], { cwd: app })
  await compileGuides()
}, 180_000)

/** To CommonJS, as a project of Nest CLI 11 and Jest do. */
async function compileGuides(): Promise<void> {
  const compilerOptions = {
    ...{ module: 'commonjs', moduleResolution: 'bundler', target: 'es2023', strict: true },
    ...{ esModuleInterop: true, isolatedModules: true, skipLibCheck: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
    ...{ types: ['node', 'jest'], rootDir: 'typed', outDir: 'guides' },
  }
  const config = 'tsconfig-guides.json'
  writeFileSync(join(app, config), JSON.stringify({ compilerOptions, include: ['typed'] }))
  const tsc = 'node_modules/typescript-6.0/bin/tsc'
  const failed = (error: { readonly stdout: string }) => error
  const { stdout } = await run(process.execPath, [tsc, '-p', config], { cwd: app }).catch(failed)
  expect(stdout).toBe('')
}

test.each([
  ['this Node', process.execPath],
  ['Node 22.18', nodes['22.18.0'] ?? ''],
])('Jest runs tests of a CommonJS application by default on %s', async (_, node) => {
  // In one process, which only ends by itself when each test has let go of what it started.
  const jest = ['node_modules/jest/bin/jest.js', '--ci', '--runInBand']
  const names = ['--testMatch', '**/*{.test,-spec}.{js,cjs}']
  const { stderr } = await run(node, [...jest, ...names], { cwd: app, timeout: 60_000 })
  expect(stderr).toContain('Tests:       8 passed, 8 total')
  expect(stderr).not.toMatch(/IDV_OBSERVE_FAILED|did not exit/)
  expect(existsSync(join(app, 'inbox.db'))).toBe(false)
})

test('the Express program of the guide starts, and its test prints nothing but its result', async () => {
  const { started } = start(['server.js'], { cwd: app, ready: /port: (\d+)/ })
  const port = /port: (\d+)/.exec(await started)?.[1]
  const event = { id: 'evt_1', event: 'verification.approved', data: { id: 'ver_42' } }
  expect(await post(`http://127.0.0.1:${port}/webhooks`, event)).toEqual([200, 401])
  const jest = ['node_modules/jest/bin/jest.js', '--ci', '--runTestsByPath', 'app.test.js']
  const { stdout, stderr } = await run(process.execPath, jest, { cwd: app })
  expect(stderr).toContain('Tests:       1 passed, 1 total')
  expect(stdout + stderr).not.toMatch(/IDV_|console/)
})

test.each([
  ['starts, and ends at SIGTERM', 'inbox.db', 0, ''],
  ['exits with the reason why it cannot start', 'no-such-folder/inbox.db', 1, 'STORE_'],
])('the worker of the guide in CommonJS %s', async (_, file, code, said) => {
  const shown = shownIn('docs/quick-start.md')
  expect(shown).toHaveLength(1)
  const program = `${shown[0]}
worker.start().then(() => process.kill(process.pid, 'SIGTERM'), () => {})`
  const name = join(app, `worker-${code}.cjs`)
  writeFileSync(name, program.replace('inbox.db', file))
  const env = { ...process.env, WEBHOOK_SECRET: 'a-secret-of-the-guide' }
  const ended = await run(process.execPath, [name], { cwd: app, env }).then(
    ({ stderr }) => ({ code: 0, stderr }),
    (error: { readonly code: number; readonly stderr: string }) => error,
  )
  expect(ended.code).toBe(code)
  expect(said === '' ? ended.stderr : ended.stderr.includes(said)).toBe(said === '' ? '' : true)
})

test('the NestJS application of the guide compiles to CommonJS, keeps, handles and ends at SIGTERM', async () => {
  const args = ['guides/nest/src/main.js']
  const { child, until, started } = start(args, { cwd: app, ready: /port: (\d+)/ })
  const port = /port: (\d+)/.exec(await started)?.[1]
  const event = { id: 'evt_1', event: 'verification.approved', data: { id: 'ver_42' } }
  expect(await post(`http://127.0.0.1:${port}/webhooks`, event)).toEqual([202, 401])
  await until(/approved: ver_42/)
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
})

const isFull = process.env.MATRIX === 'full'

/**
 * The ways in which TypeScript finds modules, what of the application it then compiles, and against
 * which library: an application of Node alone has none of the browser (@tsconfig/node22).
 */
const resolutions = {
  node10: { module: 'commonjs', files: ['consumer.ts'], lib: ['es2023', 'dom'] },
  node16: { module: 'node16', files: ['consumer.cts', 'consumer.mts'], lib: ['es2023', 'dom'] },
  nodenext: { module: 'nodenext', files: ['consumer.mts', 'consumer.cts'], lib: ['es2023'] },
  bundler: { module: 'esnext', files: ['consumer.ts'], lib: ['es2023'] },
} as const

async function diagnosticsOf(
  version: keyof typeof compilers,
  moduleResolution: keyof typeof resolutions,
): Promise<string> {
  const { module, files: all, lib } = resolutions[moduleResolution]
  // The older compilers take their time.
  const files = isFull || version === '7.0' ? all : all.slice(0, 1)
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: false, esModuleInterop: true },
    ...{ target: 'es2022', lib, types: ['node'], module, moduleResolution },
    ...(version === '6.0' && moduleResolution === 'node10' && { ignoreDeprecations: '6.0' }),
  }
  const config = `tsconfig-${version}-${moduleResolution}.json`
  writeFileSync(join(app, config), JSON.stringify({ compilerOptions, files }))
  const tsc = `node_modules/typescript-${version}/bin/tsc`
  const failed = (error: { readonly stdout: string }) => error
  const { stdout } = await run(process.execPath, [tsc, '-p', config], { cwd: app }).catch(failed)
  return stdout
}

describe('TypeScript', () => {
  // Each resolution, by the oldest version and the newest two; all pairs with MATRIX=full, in three
  // minutes.
  const few = ['5.4 node10', '6.0 bundler']
  const quick = ['7.0 node16', '7.0 nodenext']
  const all = Object.keys(compilers).flatMap((version) =>
    Object.keys(resolutions).map((resolution) => `${version} ${resolution}`),
  )
  // TypeScript 7 has no node10 any more.
  const full = all.filter((pair) => pair !== '7.0 node10')

  test.each(isFull ? full : [...few, ...quick])(
    '%s finds every type, declarations included, and the typos',
    async (pair) => {
      const [version, resolution] = pair.split(' ') as [never, never]
      expect(await diagnosticsOf(version, resolution)).toBe('')
    },
  )

  test('compiles the Worker and the function in what npm init and the commands of the guides make', async () => {
    const guide = readFileSync(join(import.meta.dirname, '../../docs/quick-start.md'), 'utf8')
    const commands = /^npm pkg set type=(\w+)\n.* && npx tsc (--init .*)\nnpx tsc (.*)$/m
    const [, type = '', init = '', check = ''] = commands.exec(guide) ?? []
    const folder = join(app, 'started')
    mkdirSync(folder)
    for (const file of ['fetch.ts', 'lambda.ts']) cpSync(join(examples, file), join(folder, file))
    // With the example of a test for it.
    cpSync(join(app, 'typed/fetch'), folder, { recursive: true })
    const manifest = { name: 'app', main: 'index.js', type }
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
    const tsc = join(app, 'node_modules/typescript-7.0/bin/tsc')
    await run(process.execPath, [tsc, ...init.split(' ')], { cwd: folder })
    const failed = (error: { readonly stdout: string }) => error
    const { stdout } = await run(process.execPath, [tsc, check], { cwd: folder }).catch(failed)
    expect(stdout).toBe('')
  })

  test('finds the types of every door in what node10 reads', () => {
    const manifest = JSON.parse(
      readFileSync(join(bare, 'node_modules/idv-webhooks/package.json'), 'utf8'),
    ) as {
      exports: Record<string, { readonly import: { readonly types: string } }>
      types: string
      typesVersions: { '*': Record<string, readonly string[]> }
    }
    const { '.': main, './package.json': _, ...doors } = manifest.exports
    expect(main?.import.types).toBe(manifest.types)
    expect(manifest.typesVersions['*']).toEqual(
      Object.fromEntries(
        Object.entries(doors).map(([door, { import: found }]) => [door.slice(2), [found.types]]),
      ),
    )
  })
})

const program = `
const { createReceiver, sign } = require('idv-webhooks')
const { z } = require('zod')
const own = z.object({ id: z.string() })
const secret = 'a-secret-beside-zod'
const receiver = createReceiver({ secret })
receiver.on('client.created', ({ data }) => console.log(own.parse(data).id))
const body = new TextEncoder().encode('{"event":"client.created","data":{"id":"cli_1"}}')
sign(body, { secret })
  .then((headers) => receiver.receive({ body, headers }))
  .then(({ kind }) => console.log(kind, typeof z.iso))
`

describe('an application with zod 3 installs the package beside it', () => {
  test.each([
    ['npm', undefined, []],
    ['pnpm', 'pnpm@12.21.0', ['install', '--ignore-scripts']],
    ['yarn', 'yarn@1.22.22', ['install', '--no-lockfile', '--ignore-scripts']],
  ])('with %s', async (name, manager, args) => {
    const folder = manager === undefined ? app : join(base, name)
    if (manager !== undefined) {
      const tools = join(base, `${name}-itself`)
      const options = ['--prefer-offline', '--ignore-scripts', '--prefix', tools]
      await run('npm', ['install', ...options, manager])
      cpSync(join(app, 'consumer.ts'), join(folder, 'consumer.ts'))
      const dependencies = { 'idv-webhooks': `file:${tarball}`, zod: zod.replace('zod@', '') }
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies }))
      const PATH = `${dirname(process.execPath)}${delimiter}${process.env.PATH}`
      const command = join(tools, 'node_modules/.bin', name)
      await run(command, args, { cwd: folder, env: { ...process.env, PATH } })
    }
    writeFileSync(join(folder, 'beside.cjs'), program)
    const { stdout } = await run(process.execPath, ['beside.cjs'], { cwd: folder })
    expect(stdout).toBe('cli_1\nhandled undefined\n')
  })
})

test.each([
  ['nest', '@nestjs/core @nestjs/common'],
  ['opentelemetry', '@opentelemetry/api'],
])('the CommonJS door /%s says what to install where its peer is missing', async (door, peers) => {
  const script = `try { require('idv-webhooks/${door}') } catch (error) {
    console.log(error.code, error.message)
  }`
  const { stdout } = await run(process.execPath, ['-e', script], { cwd: bare })
  expect(stdout).toMatch(/^MODULE_NOT_FOUND /)
  expect(stdout).toContain(`npm install ${peers}\n`)
})
