import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { startProgram } from './programs.ts'
import { surroundings } from './surroundings.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')
const { app, bare } = inject('installed')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const readme = read('README.md')
const guides = readdirSync(join(root, 'docs'))
  .filter((file) => file.endsWith('.md'))
  .map((file) => `docs/${file}`)
const errorPages = readdirSync(join(root, 'docs/errors')).map((file) => `docs/errors/${file}`)
const manifest = JSON.parse(read('package.json')) as {
  exports: Record<string, unknown>
  scripts: Record<string, string>
}

describe('README.md', () => {
  const programs = ['README.md', ...guides].flatMap((file) =>
    [...read(file).matchAll(/```js\n(.*?)```\n\n```text\n(.*?)```/gs)].map(
      ([, code = '', output = ''], at) => ({ file, at, code, output }),
    ),
  )

  test('has programs with their output', () => {
    expect(programs.length).toBeGreaterThanOrEqual(5)
  })

  test('mounts Express in twelve lines, and its commands and its program print what it says', async () => {
    const [, program = ''] = /```js\n(.*?)```/s.exec(readme) ?? []
    const [, commands = ''] = /```console\n(.*?)```/s.exec(readme) ?? []
    const [, output = ''] = /```text\n(.*?)```/s.exec(readme) ?? []
    expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(12)
    const env: NodeJS.ProcessEnv = { ...process.env, NODE_ENV: 'production' }
    env.WEBHOOK_SECRET = 'a-secret-of-yours'
    const { child, port, printed } = await startProgram(app, program, env)
    onTestFinished(() => void child.kill('SIGKILL'))
    let shown = ''
    for (const [line] of commands.matchAll(/^\$ .*/gm)) {
      const args = line.replace('localhost:3000', `127.0.0.1:${port}`).split(' ').slice(2)
      const said = `npx --no-install ${args.join(' ')} 2>&1 || true`
      shown += `${line}\n${(await run('sh', ['-c', said], { cwd: app, env })).stdout}`
    }
    const normal = (text: string) =>
      text.replaceAll(/ *\d+ ms/g, ' N ms').replaceAll(/[\da-f-]{36}/g, 'ID')
    expect(normal(shown)).toBe(normal(commands))
    expect(normal(printed())).toBe(normal(output))
  })

  test.each(programs)(
    'and the guides: program $at of $file prints what it says',
    async ({ file, at, code, output }) => {
      const name = `${file.replaceAll(/\W/g, '-')}-${at}.mjs`
      // Where a door needs its peer, that is there.
      const cwd = /idv-webhooks\/(opentelemetry|nest)'|'(pino|prom-client)'/.test(code) ? app : bare
      writeFileSync(join(cwd, name), code)
      // Outside production the first refusal of each code is a warning too.
      const env: NodeJS.ProcessEnv = { ...process.env, NODE_ENV: 'production' }
      // A program of a test takes the test secret, and says so there.
      if (code.includes('testSecret')) env.NODE_OPTIONS = '--disable-warning=IDV_SECRET_WEAK'
      const { stdout, stderr } = await run(process.execPath, [name], { cwd, env })
      expect(stdout).toBe(output)
      expect(stderr).toBe('')
    },
  )

  test('the table of versioning.md names every import path and nothing that it does not export', async () => {
    const rows = [...read('docs/versioning.md').matchAll(/^\| (`idv-webhooks.*?) \| (.*) \|$/gm)]
    const named = rows.flatMap(([, doors = '']) =>
      [...doors.matchAll(/`(?:idv-webhooks)?(\/[a-z/]+)?`/g)].map(([, path = '']) => `.${path}`),
    )
    const doors = Object.keys(manifest.exports).filter((door) => door !== './package.json')
    expect(named.sort()).toEqual(doors.sort())
    const given = new Set<string>()
    for (const door of doors) {
      const { stdout } = await run(
        process.execPath,
        [
          '-e',
          `import('${door.replace(/^\./, 'idv-webhooks')}').then((m) => console.log(Object.keys(m).join()))`,
        ],
        { cwd: app },
      )
      for (const name of stdout.trim().split(',')) given.add(name)
    }
    const words = rows.flatMap(([, , gives = '']) => gives.match(/\b[A-Za-z]+\b/g) ?? [])
    const identifiers = words.filter((word) =>
      /[a-z][A-Z]|^(verify|sign|parse|schemes|fixture|capture|replay)$/.test(word),
    )
    expect(identifiers.length).toBeGreaterThan(20)
    expect(identifiers.filter((word) => !given.has(word))).toEqual([])
  })

  test('speaks of scripts and files that are there', () => {
    const text = `${readme}\n${read('CONTRIBUTING.md')}`
    for (const [, script = ''] of text.matchAll(/npm run ([a-z-]+)/g)) {
      expect(Object.keys(manifest.scripts), script).toContain(script)
    }
    for (const [, link = ''] of readme.matchAll(/\]\(([^)#:]+)\)/g)) {
      expect(
        () => (/\.(md|ts|png)$/.test(link) ? read(link) : readdirSync(join(root, link))),
        link,
      ).not.toThrow()
    }
  })
})

test.each(['README.md', ...guides, ...errorPages])(
  '%s links to what is in the package, and to pictures of the repository',
  (file) => {
    const installed = join(bare, 'node_modules/idv-webhooks')
    const links = [...read(file).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
    const relative = links.filter((link) => !/^[a-z]+:|^#/.test(link))
    for (const link of relative) {
      const isPicture = /\.(png|svg)$/.test(link)
      const path = join(isPicture ? root : installed, file, '..', link.replace(/#.*/, ''))
      expect(existsSync(path), link).toBe(true)
    }
  },
)

test('the program of each error page prints the output that it shows', async () => {
  const programs = errorPages.flatMap((file) => {
    const [, code, output] = /```js\n(.*?)```\n\n```text\n(.*?)```/s.exec(read(file)) ?? []
    return code === undefined ? [] : [{ name: `${file.replaceAll(/\W/g, '-')}.mjs`, code, output }]
  })
  expect(programs.length).toBeGreaterThan(4)
  for (const { name, code } of programs) writeFileSync(join(bare, name), code)
  // One process for all, which says where each begins.
  const driver = `for (const name of ${JSON.stringify(programs.map(({ name }) => name))}) {
    console.log('>', name)
    await import('./' + name)
  }
  process.exit()`
  writeFileSync(join(bare, 'error-pages.mjs'), driver)
  const env: NodeJS.ProcessEnv = { ...process.env, NODE_ENV: 'production' }
  const { stdout, stderr } = await run(process.execPath, ['error-pages.mjs'], { cwd: bare, env })
  expect(stdout).toBe(programs.map(({ name, output }) => `> ${name}\n${output}`).join(''))
  expect(stderr).toBe('')
})

test('every snippet of the documents compiles as strict TypeScript, against the packed types', async () => {
  const shown = ['README.md', ...guides].flatMap((file) =>
    // A JavaScript program that shows its output is run instead.
    [...read(file).matchAll(/```(?:ts\n(.*?)```|js\n((?:(?!```).)*)```(?!\n+```text))/gs)]
      .flatMap(([, typed, plain = '']) => [typed ?? plain])
      .flatMap((code) =>
        // A snippet that imports a file or a library of the reader's cannot run by itself.
        elsewhere.test(code) ? [] : snippets(code),
      ),
  )
  expect(shown.length).toBeGreaterThanOrEqual(18)
  writeFileSync(join(app, 'surroundings.ts'), surroundings)
  const files = shown.map((code, at) => {
    const name = `shown-${at}.ts`
    writeFileSync(join(app, name), `${code}\nexport {}\n`)
    return name
  })
  const tsc = join(app, 'node_modules/typescript/bin/tsc')
  const target = ['--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2023']
  // NestJS has decorators of parameters.
  const decorators = ['--experimentalDecorators', '--emitDecoratorMetadata']
  const strict = ['--strict', '--noEmit', '--skipLibCheck', '--types', 'node']
  const options = [...strict, ...target, ...decorators]
  const all = [...options, 'surroundings.ts', ...files]
  const { stdout } = await run(process.execPath, [tsc, ...all], { cwd: app }).catch(
    (failed: { stdout: string }) => failed,
  )
  expect(stdout).toBe('')
})

test("Plaid's keys as docs/vendors.md reads them: only what Plaid does not know is 401", async () => {
  const [, code = ''] = /```ts\n([^`]*webhook_verification_key.*?)```/s.exec(
    read('docs/vendors.md'),
  ) ?? ['']
  writeFileSync(join(bare, 'plaid.mts'), code)
  const driver = `import { createHash, generateKeyPairSync, sign } from 'node:crypto'
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = publicKey.export({ format: 'jwk' })
  const answers = [
    [500, { error_code: 'INTERNAL_SERVER_ERROR' }],
    [429, { error_code: 'RATE_LIMIT' }],
    [400, { error_code: 'INVALID_API_KEYS' }],
    [400, { error_code: 'INVALID_WEBHOOK_VERIFICATION_KEY_ID' }],
    [200, { key: { ...key, expired_at: 1 } }],
    [200, { key: { ...key, expired_at: null } }],
  ]
  let answer
  globalThis.fetch = async () => Response.json(answer[1], { status: answer[0] })
  const { receiver } = await import('./plaid.mts')
  const data = { identity_verification_id: 'idv_1', environment: 'production' }
  const body = Buffer.from(
    JSON.stringify({ webhook_type: 'IDENTITY_VERIFICATION', webhook_code: 'STATUS_UPDATED', ...data }),
  )
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const hash = createHash('sha256').update(body).digest('hex')
  const signed =
    encode({ alg: 'ES256', kid: 'the-key', typ: 'JWT' }) +
    '.' +
    encode({ iat: Math.floor(Date.now() / 1000), request_body_sha256: hash })
  const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  const headers = { 'plaid-verification': signed + '.' + signature.toString('base64url') }
  for (answer of answers) {
    const { status } = await receiver.handle({ method: 'POST', headers, read: async () => body })
    console.log(status)
  }`
  writeFileSync(join(bare, 'plaid-driver.mjs'), driver)
  const env: NodeJS.ProcessEnv = { ...process.env, NODE_ENV: 'production' }
  const { stdout } = await run(process.execPath, ['plaid-driver.mjs'], { cwd: bare, env })
  expect(stdout.trim().split('\n')).toEqual(['503', '503', '503', '401', '401', '200'])
})

/** Imports of the reader's files, or of libraries that other tests have: such a snippet cannot stand alone. */
const elsewhere =
  /(?:from|import\() ?'(?:\.{1,2}\/|pg'|kysely'|drizzle-orm|@sentry\/|@sveltejs\/|react-router'|h3'|elysia'|@adonisjs\/)/

/** A block of alternatives, one a line, is as many snippets. */
function snippets(code: string): string[] {
  const alternatives = code.match(/^export default/gm) ?? []
  return alternatives.length > 1 ? code.trim().split('\n') : [code]
}

test('ARCHITECTURE.md gives every file of src its place', () => {
  const text = read('ARCHITECTURE.md')
  const rooms = readdirSync(join(root, 'src'))
    .filter((name) => name !== 'index.ts')
    .map((name) => name.replace(/\.ts$/, ''))
  expect(rooms.filter((room) => !text.includes(room))).toEqual([])
})
