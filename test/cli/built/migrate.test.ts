import { execFileSync } from 'node:child_process'
import {
  chmodSync,
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
import { describe, expect, onTestFinished, test } from 'vitest'
import { folder, root, run, runJson, transcript } from './run.ts'

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
  test('lists the renames, and changes nothing', async () => {
    const cwd = project({ ...sources, 'src/notes.md': 'sent as `request.approved`\n' })
    const args = ['migrate', 'code', 'src']
    const ran = await run(args, { cwd })
    await expect(transcript(args, ran)).toMatchFileSnapshot('transcripts/migrate-code.txt')
    expect(git(cwd, 'status', '--porcelain')).toBe('')
  })

  test('--write changes the literals; a second run changes nothing', async () => {
    const { 'src/both.js': _, ...clean } = sources
    const cwd = project(clean)
    expect(await run(['migrate', 'code', '--write'], { cwd })).toMatchObject({ code: 0 })
    expect(git(cwd, 'diff', '--stat')).toContain('1 file changed, 1 insertion(+), 1 deletion(-)')
    const again = await runJson(['migrate', 'code', '--write', '--force'], { cwd })
    expect(again.records).toMatchObject([{ type: 'summary', changed: 0, findings: 0 }])
    expect(again.code).toBe(0)
  })

  test('--check is 0 when clean, 1 when not, 2 when a file cannot be read', async () => {
    const check = async (content: string | Uint8Array) =>
      (await run(['migrate', 'code', '--check'], { cwd: project({ 'a.ts': content }) })).code
    expect(await check(sources['src/clean.ts'])).toBe(0)
    expect(await check("on('request.approved')")).toBe(1)
    expect(await check(sources['src/both.js'])).toBe(1)
    expect(await check("on('request.approved'; f(")).toBe(2)
    expect(await check(Uint8Array.from([...Buffer.from('//request.approved'), 0xff]))).toBe(2)
    expect(await check(Uint8Array.from([0x2f, 0x2f, 0xff]))).toBe(0)
    expect(await check('// idv-webhooks-ignore-file\nrequest.approved(')).toBe(0)
    expect(await check('on(`request.${x}`)')).toBe(0)
  })

  test('writes no file with uncommitted changes, or that git does not know, unless forced', async () => {
    const cwd = project({ ...sources, 'src/own.ts': "on('request.expired')\n" })
    const changed = `${sources['src/handlers.ts']}f()\n`
    writeFileSync(join(cwd, 'src/handlers.ts'), changed)
    writeFileSync(join(cwd, 'src/new.ts'), "on('request.approved')\n")
    const ran = await runJson(['migrate', 'code', '--write'], { cwd })
    expect(ran.code).toBe(1)
    const files = (type: string) =>
      ran.records.filter((one) => one.type === type).map(({ file }) => file)
    expect(files('left')).toEqual(['src/handlers.ts', 'src/new.ts'])
    expect(files('file')).toEqual(['src/own.ts'])
    expect(readFileSync(join(cwd, 'src/handlers.ts'), 'utf8')).toBe(changed)
    await run(['migrate', 'code', '--write', '--force'], { cwd })
    expect(readFileSync(join(cwd, 'src/handlers.ts'), 'utf8')).toContain('verification.approved')
  })

  test('keeps CRLF, a byte order mark, the mode of a file, and links', async () => {
    const cwd = project({ 'a.ts': "\uFEFFon('request.approved')\r\nf()\r\n" })
    chmodSync(join(cwd, 'a.ts'), 0o757)
    symlinkSync('a.ts', join(cwd, 'link.ts'))
    await run(['migrate', 'code', '--write', '--force', 'link.ts'], { cwd })
    expect(readFileSync(join(cwd, 'a.ts'), 'utf8')).toBe(
      "\uFEFFon('verification.approved')\r\nf()\r\n",
    )
    expect(statSync(join(cwd, 'a.ts')).mode & 0o777).toBe(0o757)
    expect(lstatSync(join(cwd, 'link.ts')).isSymbolicLink()).toBe(true)
  })

  test('passes over what git ignores, unless it is named', async () => {
    const legacy = "on('request.approved')\n"
    const cwd = project({ '.gitignore': 'dist/\n*.gen.ts\n', 'src/a.ts': legacy })
    for (const name of ['dist/a.js', 'src/a.gen.ts', 'node_modules/x/a.js']) {
      mkdirSync(join(cwd, name, '..'), { recursive: true })
      writeFileSync(join(cwd, name), legacy)
    }
    const filesOf = async (...paths: readonly string[]) => {
      const { records } = await runJson(['migrate', 'code', ...paths], { cwd })
      return records.filter(({ type }) => type === 'file').map(({ file }) => file)
    }
    expect(await filesOf()).toEqual(['src/a.ts'])
    expect(await filesOf('dist', 'node_modules/x')).toEqual(['dist/a.js', 'node_modules/x/a.js'])
    // Without git, all but node_modules.
    rmSync(join(cwd, '.git'), { recursive: true })
    expect(await filesOf()).toEqual(['dist/a.js', 'src/a.gen.ts', 'src/a.ts'])
  })

  test('runs no program that a repository names to watch its files', async () => {
    const cwd = project({ 'a.ts': "on('request.approved')\n" })
    const ran = join(cwd, 'ran')
    git(cwd, 'config', 'core.fsmonitor', `touch ${ran}; echo`)
    await run(['migrate', 'code', '--write'], { cwd })
    expect(readdirSync(cwd)).not.toContain('ran')
  })

  test('moves the legacy example of this repository, which then still runs', async () => {
    const example = readFileSync(join(root, 'examples/legacy-subscriber.ts'), 'utf8')
    // The handler as it stood before the migration began.
    const before = example.replace("'verification.approved'", "'request.approved'")
    const cwd = project({ 'subscriber.ts': before })
    await run(['migrate', 'code', '--write'], { cwd })
    expect(readFileSync(join(cwd, 'subscriber.ts'), 'utf8')).toBe(example)
  })
})

describe('the SQL of docs/migrate.md', () => {
  const [, postgres = ''] =
    /```sql\n(.*?)```/s.exec(readFileSync(join(root, 'docs/migrate.md'), 'utf8')) ?? []
  const sqlite = postgres.replaceAll('"', '`')

  /** The script that undoes it follows as a comment. */
  const undo = (script: string) =>
    script.slice(script.indexOf('-- Undoes')).replaceAll(/^-- (?=UPDATE|ALTER)/gm, '')
  const before = ['request.approved', 'client.created', 'request.other', 'request.expired']
  const after = [
    ['verification.approved', 'request.approved'],
    ['client.created', null],
    ['request.other', null],
    ['verification.expired', 'request.expired'],
  ]

  test('renames in SQLite, takes it back, and stops where the column exists', () => {
    const database = new DatabaseSync(':memory:')
    database.exec('CREATE TABLE webhook_events (id INTEGER, name TEXT)')
    const insert = database.prepare('INSERT INTO webhook_events VALUES (?, ?)')
    for (const [at, name] of before.entries()) insert.run(at, name)
    const rows = () =>
      database
        .prepare('SELECT * FROM webhook_events ORDER BY id')
        .all()
        .map((row) => Object.values(row).slice(1))
    database.exec(sqlite)
    expect(rows()).toEqual(after)
    expect(() => database.exec(sqlite)).toThrow('legacy_name')
    database.exec('ROLLBACK')
    expect(rows()).toEqual(after)
    database.exec("UPDATE webhook_events SET name = 'verification.rejected' WHERE id = 3")
    database.exec(undo(sqlite))
    expect(rows().flat()).toEqual([...before.slice(0, 3), 'verification.rejected'])
  })

  test('does the same in Postgres', { timeout: 120_000 }, async () => {
    const database = await PGlite.create()
    onTestFinished(() => database.close())
    await database.exec('CREATE TABLE webhook_events (id int, name text)')
    for (const [at, name] of before.entries()) {
      await database.query('INSERT INTO webhook_events VALUES ($1, $2)', [at, name])
    }
    const rows = async () =>
      (await database.query<object>('SELECT * FROM webhook_events ORDER BY id')).rows.map((row) =>
        Object.values(row).slice(1),
      )
    await database.exec(postgres)
    expect(await rows()).toEqual(after)
    await expect(database.exec(postgres)).rejects.toThrow('"legacy_name"')
    await database.exec('ROLLBACK')
    await database.exec(undo(postgres))
    expect((await rows()).flat()).toEqual(before)
  })
})
