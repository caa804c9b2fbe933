import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PGlite } from '@electric-sql/pglite'
import { createReceiver, schemes, verify } from 'idv-webhooks'
import {
  capture,
  fixture,
  readCapture,
  replay,
  signedDelivery,
  testSecret,
} from 'idv-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { secret } from './apps.ts'
import { folder, root, run, runJson, start, transcript } from './run.ts'

const env = { WEBHOOK_SECRET: secret }

const git = (cwd: string, ...args: readonly string[]) =>
  execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.test', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })

/** A project under git with these files, all committed. */
function project(files: Readonly<Record<string, string | Uint8Array>>): string {
  const cwd = folder()
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(cwd, name, '..'), { recursive: true })
    writeFileSync(join(cwd, name), content)
  }
  git(cwd, 'init', '-q')
  git(cwd, 'add', '-A', '-f')
  git(cwd, 'commit', '-qm', 'all')
  return cwd
}

const sources = {
  'src/handlers.ts':
    "receiver.on('request.approved', handle)\nreceiver.on(`request.${step}`, handle)\n",
  'src/clean.ts': "receiver.on('client.created', handle)\n",
  'src/both.js': "on('request.expired', a)\non('verification.expired', b)\n",
}

describe('migrate code', () => {
  test('shows a diff that git takes, and changes nothing', async () => {
    const cwd = project(sources)
    const args = ['migrate', 'code', 'src']
    const ran = await run(args, { cwd })
    await expect(transcript(args, ran)).toMatchFileSnapshot('transcripts/migrate-code.txt')
    expect(git(cwd, 'status', '--porcelain')).toBe('')
    writeFileSync(join(cwd, 'x.diff'), ran.stdout)
    git(cwd, 'apply', 'x.diff')
    expect(readFileSync(join(cwd, 'src/handlers.ts'), 'utf8')).toContain("'verification.approved'")
  })

  test('--write changes the literals; a second run changes nothing', async () => {
    const { 'src/both.js': _, ...clean } = sources
    const cwd = project(clean)
    expect(await run(['migrate', 'code', '--write'], { cwd })).toMatchObject({ code: 0 })
    expect(git(cwd, 'diff', '--stat')).toContain('1 file changed, 1 insertion(+), 1 deletion(-)')
    const again = await runJson(['migrate', 'code', '--write', '--force'], { cwd })
    expect(again.records.at(-1)).toMatchObject({ type: 'summary', changed: 0, findings: 1 })
    expect(again.code).toBe(0)
  })

  test('--check is 0 when clean, 1 when not, 2 when a file cannot be read', async () => {
    const check = async (files: Record<string, string | Uint8Array>, ...flags: string[]) =>
      (await run(['migrate', 'code', '--check', ...flags], { cwd: project(files) })).code
    expect(await check({ 'a.ts': sources['src/clean.ts'] })).toBe(0)
    expect(await check({ 'a.ts': "on('request.approved')" })).toBe(1)
    expect(await check({ 'a.ts': sources['src/both.js'] })).toBe(1)
    expect(await check({ 'a.ts': "on('request.approved'" })).toBe(2)
    expect(await check({ 'a.ts': Uint8Array.from([...Buffer.from('//request'), 0xff]) })).toBe(2)
    expect(await check({ 'a.ts': Uint8Array.from([0x2f, 0x2f, 0xff]) })).toBe(0)
    const aside = '// idv-webhooks-ignore-file\nrequest'
    expect(await check({ 'a.ts': Uint8Array.from([...Buffer.from(aside), 0xff]) })).toBe(0)
    expect(await check({ 'a.ts': `${aside}(` })).toBe(0)
    expect(await check({ 'a.ts': `x = ${JSON.stringify(aside)}; request(` })).toBe(2)
    expect(await check({ 'a.ts': 'on(`request.${x}`)' })).toBe(0)
    expect(await check({ 'a.ts': 'on(`request.${x}`)' }, '--strict')).toBe(1)
  })

  test('refuses a tree with work in it, unless forced', async () => {
    const cwd = project(sources)
    writeFileSync(join(cwd, 'src/clean.ts'), '')
    const ran = await run(['migrate', 'code', '--write'], { cwd })
    expect(ran).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') })
    expect(readFileSync(join(cwd, 'src/handlers.ts'), 'utf8')).toBe(sources['src/handlers.ts'])
    await run(['migrate', 'code', '--write', '--force'], { cwd })
    expect(readFileSync(join(cwd, 'src/handlers.ts'), 'utf8')).toContain('verification.approved')
  })

  test('refuses a tree of which git says nothing, or very much', async () => {
    const cwd = project(sources)
    writeFileSync(join(cwd, 'src/clean.ts'), '')
    // Beyond a mebibyte of answer.
    mkdirSync(join(cwd, 'recordings'))
    const name = 'r'.repeat(200)
    for (let at = 0; at < 6_000; at++) writeFileSync(join(cwd, 'recordings', `${name}${at}`), '')
    const much = await run(['migrate', 'code', 'src', '--write'], { cwd })
    expect(much).toMatchObject({ code: 2, stderr: expect.stringContaining('uncommitted changes') })
    rmSync(join(cwd, 'recordings'), { recursive: true })
    writeFileSync(join(cwd, '.git/HEAD'), 'nothing that git reads')
    const silent = await run(['migrate', 'code', 'src', '--write'], { cwd })
    expect(silent).toMatchObject({ code: 2, stderr: expect.stringContaining('git status fails') })
  })

  test('refuses files of which git would show no change', async () => {
    const cwd = project({ ...sources, '.gitignore': 'own/\n', 'own/a.ts': 'f()\n' })
    const write = (...paths: string[]) => run(['migrate', 'code', ...paths, '--write'], { cwd })
    const refused = { code: 2, stderr: expect.stringContaining('git would not show') }
    writeFileSync(join(cwd, 'own/b.ts'), "on('request.approved')\n")
    expect(await write('own')).toMatchObject(refused)
    git(cwd, 'update-index', '--assume-unchanged', 'src/handlers.ts')
    writeFileSync(join(cwd, 'src/handlers.ts'), `${sources['src/handlers.ts']}f()\n`)
    expect(await write('src')).toMatchObject(refused)
    expect(readFileSync(join(cwd, 'src/handlers.ts'), 'utf8')).toContain('request.approved')
  })

  test('passes over what git ignores by rules outside of the folder', async () => {
    const legacy = "on('request.approved')\n"
    const cwd = project({ 'a.ts': legacy })
    writeFileSync(join(cwd, '.git/info/exclude'), 'mine.ts\n')
    writeFileSync(join(cwd, '.git/everywhere'), 'local.*\n')
    git(cwd, 'config', 'core.excludesFile', join(cwd, '.git/everywhere'))
    const beside = join(folder(), 'beside')
    git(cwd, 'worktree', 'add', '-q', beside)
    for (const top of [cwd, beside]) {
      for (const name of ['mine.ts', 'local.ts']) writeFileSync(join(top, name), legacy)
      const { records } = await runJson(['migrate', 'code'], { cwd: top })
      const files = records.filter(({ type }) => type === 'file').map(({ file }) => file)
      expect(files, top).toEqual(['a.ts'])
    }
  })

  test('minds no file that git does not know, unless it would be changed', async () => {
    const { 'src/both.js': _, ...clean } = sources
    const cwd = project(clean)
    // As the shell makes it for `migrate code --write > renamed.txt`.
    writeFileSync(join(cwd, 'renamed.txt'), '')
    writeFileSync(join(cwd, 'new.ts'), "on('request.approved')\n")
    const refused = await run(['migrate', 'code', '--write'], { cwd })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--force') })
    const ran = await run(['migrate', 'code', 'src', '--write'], { cwd })
    expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('changed 1 file') })
  })

  test('leaves alone what somebody saves while it runs, and says so', async () => {
    const many = Array.from({ length: 1500 }, (_, at) => [
      `src/f${String(at).padStart(4, '0')}.ts`,
      `on('request.approved', ${at})\n`,
    ])
    const cwd = project(Object.fromEntries(many))
    const { child, until, ended } = start(['migrate', 'code', '--write'], { cwd })
    // The first is written, so all are read.
    await until(/f0000\.ts: 1 name renamed/)
    const last = join(cwd, 'src/f1499.ts')
    child.kill('SIGSTOP')
    writeFileSync(last, "on('request.expired', mine)\n")
    child.kill('SIGCONT')
    const ran = await ended
    expect(ran.code).toBe(1)
    expect(readFileSync(last, 'utf8')).toBe("on('request.expired', mine)\n")
    expect(ran.stderr).toContain('src/f1499.ts: not changed: it was changed by another program')
    expect(ran.stderr).toContain('changed 1499 files (1499 names)')
    expect(ran.stderr).toContain('1 not written')
  })

  test.each([[[]], [['--json']]])(
    'tells what it has changed when interrupted %j',
    async (flags) => {
      const many = Array.from({ length: 1500 }, (_, at) => [
        `src/f${String(at).padStart(4, '0')}.ts`,
        `on('request.approved', ${at})\n`,
      ])
      const cwd = project(Object.fromEntries(many))
      const { child, until, ended } = start(['migrate', 'code', '--write', ...flags], { cwd })
      await until(/f0000\.ts/)
      child.kill('SIGINT')
      const ran = await ended
      expect(ran.code).toBe(130)
      const changed = git(cwd, 'diff', '--name-only').trim().split('\n').length
      expect(changed).toBeLessThan(1500)
      expect(ran.stderr).toContain(`changed ${changed} files (${changed} names)`)
      expect(ran.stderr).toContain(`interrupted before ${1500 - changed} files`)
      if (flags.length === 0) return
      const records = ran.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object)
      expect(records.at(-2)).toMatchObject({ type: 'summary', changed, interrupted: true })
      expect(readdirSync(join(cwd, 'src')).every((name) => name.endsWith('.ts'))).toBe(true)
    },
  )

  test('leaves out what --exclude names, a path or a glob', async () => {
    const legacy = "on('request.approved')\n"
    const cwd = project({ 'a.ts': legacy, 'gen/b.ts': legacy, 'src/c.min.js': legacy })
    const args = ['migrate', 'code', '--exclude', './gen', '--exclude', '*.min.js']
    const { records } = await runJson(args, { cwd })
    expect(records.filter(({ type }) => type === 'file')).toMatchObject([{ file: 'a.ts' }])
  })

  test('shows a diff of files elsewhere that can be applied there', async () => {
    const cwd = project({ 'a.ts': "on('request.approved')\n", 'inner/b.ts': '' })
    const ran = await run(['migrate', 'code', '../a.ts'], { cwd: join(cwd, 'inner') })
    expect(ran.stdout).toContain('--- a/a.ts\n+++ b/a.ts\n')
  })

  test('looks for such work where the files are, not where it is called', async () => {
    const cwd = project({ 'own.ts': '' })
    const other = project(sources)
    const nested = join(cwd, 'vendor')
    mkdirSync(nested)
    writeFileSync(join(nested, 'a.ts'), "on('request.approved')\n")
    git(nested, 'init', '-q')
    writeFileSync(join(cwd, '.gitignore'), '')
    const write = (path: string) => run(['migrate', 'code', '--write', path], { cwd })
    // Work in the folder it is called from is no matter for files that are elsewhere.
    expect((await write(other)).code).toBe(1)
    expect(git(other, 'status', '--porcelain')).toContain('src/handlers.ts')
    const refused = await write(join(other, 'src'))
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(other) })
    expect(await write('vendor')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(nested),
    })
  })

  test('keeps permissions that the umask would take, and links', async () => {
    const cwd = project({ 'a.ts': "on('request.approved')\n" })
    chmodSync(join(cwd, 'a.ts'), 0o666)
    symlinkSync('a.ts', join(cwd, 'link.ts'))
    await run(['migrate', 'code', '--write', '--force', 'link.ts'], { cwd })
    expect(statSync(join(cwd, 'a.ts')).mode & 0o777).toBe(0o666)
    expect(lstatSync(join(cwd, 'link.ts')).isSymbolicLink()).toBe(true)
    expect(readFileSync(join(cwd, 'a.ts'), 'utf8')).toContain('verification.approved')
  })

  test('keeps CRLF, a byte order mark, and the mode of the file', async () => {
    const cwd = project({ 'a.ts': "\uFEFFon('request.approved')\r\nf()\r\n" })
    chmodSync(join(cwd, 'a.ts'), 0o755)
    await run(['migrate', 'code', '--write', '--force'], { cwd })
    expect(readFileSync(join(cwd, 'a.ts'), 'utf8')).toBe(
      "\uFEFFon('verification.approved')\r\nf()\r\n",
    )
    expect(statSync(join(cwd, 'a.ts')).mode & 0o777).toBe(0o755)
  })

  test('passes over what git ignores', async () => {
    const legacy = "on('request.approved')\n"
    const cwd = project({
      '.gitignore': 'dist/\n*.gen.ts\n!keep.gen.ts\n',
      'src/.gitignore': 'local.ts\n!own.gen.ts\n',
      'src/own.gen.ts': legacy,
      'dist/a.js': legacy,
      'src/a.gen.ts': legacy,
      'src/keep.gen.ts': legacy,
      'src/local.ts': legacy,
      'src/a.ts': legacy,
      'node_modules/x/a.js': legacy,
    })
    const { records } = await runJson(['migrate', 'code'], { cwd })
    const files = records.filter(({ type }) => type === 'file').map(({ file }) => file)
    expect(files).toEqual(['src/a.ts', 'src/keep.gen.ts', 'src/own.gen.ts'])
    const inside = await runJson(['migrate', 'code', 'src'], { cwd })
    expect(inside.records.filter(({ type }) => type === 'file').length).toBe(3)
    const named = await runJson(['migrate', 'code', 'dist', 'node_modules/x'], { cwd })
    expect(named.records.filter(({ type }) => type === 'file')).toMatchObject([
      { file: 'dist/a.js' },
      { file: 'node_modules/x/a.js' },
    ])
  })

  test('prints SARIF that names rule and place', async () => {
    const cwd = project(sources)
    const { stdout } = await run(['migrate', 'code', '--sarif', '--check'], { cwd })
    const { version, runs } = JSON.parse(stdout) as {
      version: string
      runs: { results: object[]; tool: { driver: { rules: { id: string }[] } } }[]
    }
    expect(version).toBe('2.1.0')
    const place = (uri: string, startLine: number, startColumn: number) => [
      {
        physicalLocation: {
          artifactLocation: { uri, uriBaseId: 'ROOT' },
          region: { startLine, startColumn },
        },
      },
    ]
    expect(runs[0]?.results).toMatchObject([
      { ruleId: 'event-name-collision', level: 'error', locations: place('src/both.js', 1, 4) },
      { ruleId: 'legacy-event-name', level: 'error', locations: place('src/handlers.ts', 1, 13) },
      {
        ruleId: 'dynamic-event-name',
        level: 'warning',
        locations: place('src/handlers.ts', 2, 13),
      },
    ])
  })

  test('gives API paths rules of their own in SARIF', async () => {
    const cwd = project({ 'a.ts': "get('/v2/api/requests')\nget('/requests')\n" })
    const { stdout } = await run(['migrate', 'code', '--sarif', '--paths'], { cwd })
    const { runs } = JSON.parse(stdout) as {
      runs: { results: object[]; tool: { driver: { rules: { id: string }[] } } }[]
    }
    expect(runs[0]?.results).toMatchObject([
      { ruleId: 'legacy-api-path', level: 'error' },
      { ruleId: 'possible-api-path', level: 'warning' },
    ])
    expect(runs[0]?.tool.driver.rules.map(({ id }) => id)).toContain('possible-api-path')
  })

  test('moves the legacy example of this repository, which then still runs', async () => {
    const example = readFileSync(join(root, 'examples/legacy-subscriber.ts'), 'utf8')
    // The handler as it stood before the migration began.
    const before = example.replace("'verification.approved'", "'request.approved'")
    const cwd = project({ 'subscriber.ts': before })
    await run(['migrate', 'code', '--write'], { cwd })
    expect(readFileSync(join(cwd, 'subscriber.ts'), 'utf8')).toBe(example)
  })

  test('renames API paths only when asked', async () => {
    const cwd = project({ 'a.ts': 'fetch(`/v2/api/requests/${id}`)\napp.get("/requests")\n' })
    expect((await run(['migrate', 'code', '--check'], { cwd })).code).toBe(0)
    const { records } = await runJson(['migrate', 'code', '--check', '--paths'], { cwd })
    expect(records).toMatchObject([
      {
        type: 'file',
        edits: [{ line: 1, from: '/v2/api/requests/', to: '/v2/api/verifications/' }],
      },
      { type: 'finding', line: 2, kind: 'path' },
      { type: 'summary' },
    ])
  })
})

describe('migrate captures', () => {
  async function captures(cwd: string) {
    const delivery = await signedDelivery(
      `{ "id":"evt_1",\n  "event" : "request.approved", "data": {"id":"ver_1"} }`,
      { secret, now: () => new Date('2026-03-01T10:00:00Z') },
    )
    const raw = await capture(delivery, { redact: false })
    writeFileSync(join(cwd, 'request-approved.json'), JSON.stringify(raw))
    writeFileSync(join(cwd, 'redacted.json'), JSON.stringify(await capture(delivery)))
    const current = await capture(await signedDelivery(fixture('client.created'), { secret }))
    writeFileSync(join(cwd, 'current.json'), JSON.stringify(current))
    return raw
  }

  test('writes new files that verify, and keeps the originals', async () => {
    const cwd = folder()
    const raw = await captures(cwd)
    const args = ['migrate', 'captures', '.']
    const ran = await run(args, { cwd, env })
    await expect(transcript(args, ran)).toMatchFileSnapshot('transcripts/migrate-captures.txt')
    expect(readdirSync(cwd).sort()).toEqual([
      'current.json',
      'redacted.json',
      'redacted.migrated.json',
      'request-approved.json',
      'verification-approved.json',
    ])
    expect(JSON.parse(readFileSync(join(cwd, 'request-approved.json'), 'utf8'))).toEqual(raw)
    const read = (name: string) => readCapture(readFileSync(join(cwd, name), 'utf8'))
    const migrated = read('verification-approved.json')
    expect(new TextDecoder().decode(migrated.delivery.body)).toBe(
      `{ "id":"evt_1",\n  "event" : "verification.approved", "data": {"id":"ver_1"} }`,
    )
    expect((await verify(migrated.delivery, { secret })).ok).toBe(true)
    const redacted = read('redacted.migrated.json')
    expect((await verify(redacted.delivery, { secret: testSecret })).ok).toBe(true)
    expect((await run(args, { cwd, env })).stderr).toContain('0 files written · 2 unchanged')
  })

  test('both the old and the new file run in a test-suite', async () => {
    const cwd = folder()
    mkdirSync(join(cwd, 'captures'))
    copyFileSync(
      join(root, 'examples/captures/request-approved.json'),
      join(cwd, 'captures/a.json'),
    )
    await run(['migrate', 'captures', 'captures'], { cwd })
    const receiver = createReceiver({ secret: testSecret })
    const names: string[] = []
    receiver.on('verification.approved', ({ receivedName }) => names.push(receivedName))
    const files = readdirSync(join(cwd, 'captures')).sort()
    await replay(
      receiver,
      files.map((name) => readFileSync(join(cwd, 'captures', name), 'utf8')),
    )
    expect(names).toEqual(['request.approved', 'verification.approved'])
  })

  test('does not make a forged capture genuine', async () => {
    const cwd = folder()
    const forged = await capture(
      await signedDelivery(fixture('request.approved'), { secret: 'another-secret' }),
      { redact: false },
    )
    writeFileSync(join(cwd, 'forged.json'), JSON.stringify(forged))
    const ran = await run(['migrate', 'captures', 'forged.json'], { cwd, env })
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('does not verify') })
    expect(readdirSync(cwd)).toEqual(['forged.json'])
  })

  test('leaves out what did not verify when it was recorded', async () => {
    const cwd = folder()
    const delivery = await signedDelivery(fixture('request.approved'), { secret })
    const proof = { ok: false, code: 'SIGNATURE_MISMATCH' } as const
    const made = await capture(delivery, { redact: false, proof })
    writeFileSync(join(cwd, 'a.json'), JSON.stringify(made))
    const ran = await runJson(['migrate', 'captures', 'a.json'], { cwd, env })
    expect(ran).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('did not verify when it was recorded (SIGNATURE_MISMATCH)'),
      records: [{ state: 'refused' }, { type: 'summary', refused: 1, written: 0 }],
    })
    expect(readdirSync(cwd)).toEqual(['a.json'])
  })

  test('signs as the scheme of the capture does, at its time', async () => {
    const cwd = folder()
    const scheme = schemes.standardWebhooks()
    const options = { secret: testSecret, scheme, now: () => new Date('2026-03-01T10:00:00Z') }
    const delivery = await signedDelivery(fixture('request.expired'), { ...options, id: 'msg_7' })
    const made = await capture(delivery, { scheme, redact: false, secret: testSecret })
    writeFileSync(join(cwd, 'a.json'), JSON.stringify(made))
    await run(['migrate', 'captures', 'a.json'], { cwd, env: { WEBHOOK_SECRET: testSecret } })
    const { delivery: after } = readCapture(readFileSync(join(cwd, 'a.migrated.json'), 'utf8'))
    expect(await verify(after, options)).toMatchObject({
      ok: true,
      delivery: { signedId: 'msg_7' },
    })
  })
})

describe('migrate data', () => {
  const sql = async (dialect: string, ...flags: string[]) => {
    const args = [
      'migrate',
      'data',
      '--dialect',
      dialect,
      '--table',
      'audit.events',
      '--column',
      'name',
    ]
    const ran = await run([...args, ...flags])
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    return { ...ran, args: [...args, ...flags] }
  }

  test.each(['sqlite', 'postgres', 'mysql'])('prints SQL for %s', async (dialect) => {
    const { args, ...ran } = await sql(dialect)
    await expect(transcript(args, ran)).toMatchFileSnapshot(
      `transcripts/migrate-data-${dialect}.txt`,
    )
  })

  test('renames in a real database, and takes it back', async () => {
    const database = new DatabaseSync(':memory:')
    database.exec("ATTACH ':memory:' AS audit; CREATE TABLE audit.events (id INTEGER, name TEXT)")
    const insert = database.prepare('INSERT INTO audit.events VALUES (?, ?)')
    const before = ['request.approved', 'client.created', 'request.other', 'request.expired']
    for (const [at, name] of before.entries()) insert.run(at, name)
    const names = () =>
      database
        .prepare('SELECT name FROM audit.events ORDER BY id')
        .all()
        .map(({ name }) => name)
    database.exec((await sql('sqlite')).stdout)
    expect(names()).toEqual([
      'verification.approved',
      'client.created',
      'request.other',
      'verification.expired',
    ])
    database.exec((await sql('sqlite', '--reverse')).stdout)
    expect(names()).toEqual(before)
    expect(Object.keys(database.prepare('SELECT * FROM audit.events').get() ?? {})).toEqual([
      'id',
      'name',
    ])
  })

  const table = (rows: readonly string[]) => {
    const database = new DatabaseSync(':memory:')
    database.exec("ATTACH ':memory:' AS audit; CREATE TABLE audit.events (id INTEGER, name TEXT)")
    const insert = database.prepare('INSERT INTO audit.events VALUES (?, ?)')
    for (const [at, name] of rows.entries()) insert.run(at, name)
    const read = () =>
      database
        .prepare('SELECT name, legacy_name FROM audit.events ORDER BY id')
        .all()
        .map(({ name, legacy_name }) => [name, legacy_name])
    return { database, read }
  }

  test('stops at a second run with what to do, and changes nothing', async () => {
    const { database, read } = table(['request.approved', 'client.created'])
    const { stdout } = await sql('sqlite')
    database.exec(stdout)
    database.exec("UPDATE audit.events SET name = 'request.expired' WHERE id = 1")
    const before = read()
    expect(() => database.exec(stdout)).toThrow('print this script with --again')
    expect(read()).toEqual(before)
    expect(database.isTransaction).toBe(false)
  })

  test('writes into no column that was there, also where a client goes on after errors', async () => {
    const { database, read } = table(['request.approved'])
    database.exec("ALTER TABLE audit.events ADD COLUMN legacy_name TEXT DEFAULT 'mine'")
    const errors: string[] = []
    for (const statement of (await sql('sqlite')).stdout.split(/(?<=;)\n/)) {
      try {
        database.exec(statement)
      } catch (error) {
        errors.push(String(error))
      }
    }
    expect(errors).toHaveLength(2)
    expect(read()).toEqual([['request.approved', 'mine']])
  })

  test('--again renames what has come since, as often as it is run', async () => {
    const { database, read } = table(['request.approved', 'client.created'])
    database.exec((await sql('sqlite')).stdout)
    database.exec("INSERT INTO audit.events VALUES (2, 'request.expired', NULL)")
    const again = await sql('sqlite', '--again')
    database.exec(again.stdout)
    database.exec(again.stdout)
    expect(read()).toEqual([
      ['verification.approved', 'request.approved'],
      ['client.created', null],
      ['verification.expired', 'request.expired'],
    ])
    database.exec((await sql('sqlite', '--reverse')).stdout)
    const names = database.prepare('SELECT name FROM audit.events ORDER BY id').all()
    expect(names.map(({ name }) => name)).toEqual([
      'request.approved',
      'client.created',
      'request.expired',
    ])
  })

  test('taken back it leaves a name that was written since', async () => {
    const { database } = table(['request.rejected', 'request.approved'])
    database.exec((await sql('sqlite')).stdout)
    database.exec("UPDATE audit.events SET name = 'verification.expired' WHERE id = 0")
    database.exec((await sql('sqlite', '--reverse')).stdout)
    expect(database.prepare('SELECT name FROM audit.events ORDER BY id').all()).toEqual([
      { name: 'verification.expired' },
      { name: 'request.approved' },
    ])
  })

  test('taken back it restores names of a column that compares without case', async () => {
    const database = new DatabaseSync(':memory:')
    const columns = 'id INTEGER, name TEXT COLLATE NOCASE'
    database.exec(`ATTACH ':memory:' AS audit; CREATE TABLE audit.events (${columns})`)
    const names = () => database.prepare('SELECT name FROM audit.events').all()
    database.exec("INSERT INTO audit.events VALUES (1, 'Request.Approved')")
    database.exec((await sql('sqlite')).stdout)
    expect(names()).toEqual([{ name: 'verification.approved' }])
    database.exec((await sql('sqlite', '--reverse')).stdout)
    expect(names()).toEqual([{ name: 'Request.Approved' }])
  })

  test('taken back twice it stops at once, and changes nothing', async () => {
    // As builds of SQLite have it that take an unknown name for a text.
    const database = new DatabaseSync(':memory:', { enableDoubleQuotedStringLiterals: true })
    database.exec("ATTACH ':memory:' AS audit; CREATE TABLE audit.events (id INTEGER, name TEXT)")
    database.exec("INSERT INTO audit.events VALUES (1, 'request.approved')")
    database.exec((await sql('sqlite')).stdout)
    const { stdout } = await sql('sqlite', '--reverse')
    database.exec(stdout)
    expect(() => database.exec(stdout)).toThrow('legacy_name')
    expect(database.isTransaction).toBe(false)
    expect(database.prepare('SELECT name FROM audit.events').all()).toEqual([
      { name: 'request.approved' },
    ])
  })

  test('does the same in a real Postgres', { timeout: 120_000 }, async () => {
    const database = await PGlite.create()
    onTestFinished(() => database.close())
    await database.exec('CREATE SCHEMA audit; CREATE TABLE audit.events (id int, name text)')
    const before = ['request.approved', 'client.created', 'request.other', 'request.expired']
    for (const [at, name] of before.entries()) {
      await database.query('INSERT INTO audit.events VALUES ($1, $2)', [at, name])
    }
    const rows = async () =>
      (await database.query<object>('SELECT * FROM audit.events ORDER BY id')).rows.map((row) =>
        Object.values(row).slice(1),
      )
    const { stdout } = await sql('postgres')
    await database.exec(stdout)
    const after = [
      ['verification.approved', 'request.approved'],
      ['client.created', null],
      ['request.other', null],
      ['verification.expired', 'request.expired'],
    ]
    expect(await rows()).toEqual(after)

    // psql ends the session at the first error, and with it the transaction.
    await expect(database.exec(stdout)).rejects.toThrow('"legacy_name"')
    await database.exec('ROLLBACK')
    expect(await rows()).toEqual(after)

    await database.exec("INSERT INTO audit.events VALUES (4, 'request.created')")
    await database.exec((await sql('postgres', '--again')).stdout)
    expect((await rows())[4]).toEqual(['verification.created', 'request.created'])
    const reverse = (await sql('postgres', '--reverse')).stdout
    await database.exec(reverse)
    expect(await rows()).toEqual([...before, 'request.created'].map((name) => [name]))
    await expect(database.exec(reverse)).rejects.toThrow('"legacy_name"')
  })

  test.each(['postgres', 'mysql'])('writes into no column that is there in %s', async (dialect) => {
    const { stdout } = await sql(dialect)
    // Both fail at it, before a name has changed.
    expect(stdout).toMatch(/^ALTER TABLE \S+ ADD COLUMN .legacy_name. \S+;$/m)
    expect(stdout.indexOf('ADD COLUMN')).toBeLessThan(stdout.indexOf('UPDATE'))
    expect((await sql(dialect, '--again')).stdout).not.toContain('ADD COLUMN')
  })

  test('says in the script for MySQL what commits at every ALTER TABLE, and orders it so', async () => {
    const { stdout } = await sql('mysql')
    const forward = stdout.slice(0, stdout.indexOf('-- Takes the renaming'))
    expect(forward).toContain('commits at every ALTER TABLE')
    expect(forward.indexOf('ADD COLUMN')).toBeLessThan(forward.indexOf('START TRANSACTION'))
    const { stdout: reverse } = await sql('mysql', '--reverse')
    expect(reverse).toContain('commits at every ALTER TABLE')
    expect(reverse.indexOf('COMMIT;')).toBeLessThan(reverse.indexOf('DROP COLUMN'))
  })

  test('stops at a column of that name that is somebody’s own', async () => {
    const database = new DatabaseSync(':memory:')
    database.exec(
      "ATTACH ':memory:' AS audit; CREATE TABLE audit.events (name TEXT, legacy_name TEXT)",
    )
    database.exec("INSERT INTO audit.events VALUES ('request.approved', 'mine')")
    const { stdout } = await sql('sqlite')
    expect(() => database.exec(stdout)).toThrow('print this script with --again')
    expect({ ...database.prepare('SELECT * FROM audit.events').get() }).toEqual({
      name: 'request.approved',
      legacy_name: 'mine',
    })
  })

  test('asks for another column for the old name than that of the name', async () => {
    const args = ['migrate', 'data', '--dialect', 'mysql', '--table', 't', '--column', 'name']
    expect(await run([...args, '--old-column', 'Name'])).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('a column of its own'),
    })
  })

  test('quotes names that would break out', async () => {
    const args = ['migrate', 'data', '--dialect', 'postgres', '--table', 'a"; DROP TABLE b; --']
    const { stdout } = await run([...args, '--column', 'c'])
    expect(stdout).toContain('"a""; DROP TABLE b; --"')
  })
})
