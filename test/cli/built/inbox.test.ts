import { closeSync, fstatSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { createReceiver, createWorker, NonRetryable } from 'idv-webhooks'
import { createInbox, type InboxOptions } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { type FixtureName, fixture, signedDelivery } from 'idv-webhooks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { secret } from './apps.ts'
import {
  folder,
  type RunOptions,
  run,
  runAtTerminal,
  runJson,
  startAtTerminal,
  transcript,
} from './run.ts'

const people = /Robin|robin@|555-0100|Kim Sample|Example Street/
const ownKey = 'YYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYY='

type Settings = Pick<InboxOptions, 'encryption' | 'retry'> & { now?: () => Date }

/** An application that keeps deliveries in a file; approvals fail for good, the rest succeeds. */
async function application(settings: Settings = {}) {
  const cwd = folder()
  const inbox = createInbox({ store: sqliteStore(join(cwd, 'inbox.db')), ...settings })
  await inbox.open()
  onTestFinished(() => inbox.close())
  const receiver = createReceiver({
    secret: [{ id: 'main', value: secret }],
    inbox,
    observe: () => {},
    ...(settings.now && { now: settings.now }),
  })
  const ran: string[] = []
  const state = { isDown: false }
  receiver.on(
    '*',
    ({ name, source }) => {
      ran.push(`${name} ${source}`)
      if (state.isDown) throw new Error('billing is down')
      if (name === 'verification.approved') throw new NonRetryable('Robin is not in the books')
    },
    { id: 'books' },
  )
  const worker = createWorker(receiver)
  const deliver = async (name: FixtureName, id: string, body: object = {}) => {
    const event = fixture(name, { id, data: { id: `ver_${id}`, ...body } })
    const now = settings.now ?? (() => new Date())
    return (await receiver.receive(await signedDelivery(event, { secret, now }))).kind
  }
  return { cwd, inbox, worker, deliver, ran, state, file: join(cwd, 'inbox.db') }
}

type Application = Awaited<ReturnType<typeof application>>

/** One of each: done, dead, still stored, and evidence of a conflict. */
async function oneOfEach(settings: Parameters<typeof application>[0] = {}): Promise<Application> {
  const app = await application(settings)
  await app.deliver('verification.created', '1')
  await app.deliver('request.approved', '2')
  await app.worker.runOnce()
  await app.deliver('client.created', '3')
  await app.deliver('client.created', '3', { city: 'Elsewhere' })
  return app
}

const idOf = async ({ inbox }: Application, state: 'done' | 'dead' | 'skipped' | 'stored') =>
  (await inbox.find({ state })).entries[0]?.id ?? ''

/** A transcript without what differs at each run: ids, and the moments that the clock gave. */
async function told(app: Application, args: readonly string[], options: RunOptions = {}) {
  const ran = await run(['inbox', ...args], { cwd: app.cwd, ...options })
  const text = transcript(['inbox', ...args], ran)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'ENTRY-ID')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, 'WHEN')
    .replaceAll(/\d+ s( open)?$/gm, 'N s$1')
    .replaceAll(/\d+ days/g, 'N days')
    .replaceAll(/ \(\S+inbox\.test\.ts:\d+:\d+\)/g, ' (PLACE)')
    .replaceAll(/^ {2}"id": "[0-9a-f-]{36}"/gm, '  "id": "UUID"')
  return { ...ran, text }
}

describe('looking, beside the application that owns the file', () => {
  test('list prints each entry in a line, newest first, without personal data', async () => {
    const app = await oneOfEach()
    const { text, code } = await told(app, ['list', '--inbox', 'inbox.db'], { columns: 160 })
    await expect(text).toMatchFileSnapshot('transcripts/inbox-list.txt')
    expect(text).not.toMatch(people)
    expect(code).toBe(0)
  })

  test.each([
    [['--state', 'dead'], ['verification.approved']],
    [
      ['--state', 'dead', '--state', 'done'],
      ['verification.approved', 'verification.created'],
    ],
    [['--name', 'request.created'], ['verification.created']],
    [
      ['--entity', 'client:ver_3'],
      ['client.created', 'client.created'],
    ],
    [['--search', '2'], ['verification.approved']],
    [['--since', '1m', '--limit', '1'], ['client.created']],
    [['--since', '2999-01-01T00:00:00Z'], []],
  ])('list %j finds %j', async (args, names) => {
    const app = await oneOfEach()
    const search = args.map((arg) => (arg === '2' ? 'evt_none' : arg))
    const wanted = args.includes('2') ? await idOf(app, 'dead') : undefined
    const call = search.map((arg) => (arg === 'evt_none' && wanted ? wanted : arg))
    const { records } = await runJson(['inbox', 'list', '--inbox', app.file, ...call])
    const entries = records.filter(({ type }) => type === 'entry')
    expect(entries.map(({ name }) => name)).toEqual(names)
    expect(records.at(-1)).toMatchObject({ type: 'page', entries: names.length })
  })

  test('list prints when a retry is due and which entries wait for it; redrive runs it at once', async () => {
    const app = await application({ retry: { delays: [3_600_000], random: () => 1 } })
    app.state.isDown = true
    await app.deliver('client.created', '1')
    await app.deliver('client.updated', '2', { id: 'ver_1' })
    await app.deliver('verification.created', '3')
    await app.worker.runOnce()
    const { stdout } = await told(app, ['list', '--inbox', 'inbox.db'], { columns: 160 })
    const [heads, other, waiting, failed] = stdout.trimEnd().split('\n')
    expect(heads).toMatch(/^ID +STATE +RECEIVED +EVENT +NOTE/)
    const [shortId = ''] = failed?.split(' ') ?? []
    expect(failed).toMatch(/ retry .* due in 59 min, HANDLER_FAILED/)
    expect(waiting).toContain(` after ${shortId}`)
    expect(other).toMatch(/ retry .* due /)
    const { records } = await runJson(['inbox', 'list', '--inbox', app.file])
    const id = String(records[2]?.id)
    expect(id.startsWith(shortId)).toBe(true)
    expect(records.map(({ waitsFor }) => waitsFor)).toEqual([undefined, id, undefined, undefined])

    const examined = await run(['doctor', '--inbox', app.file], { cwd: app.cwd })
    expect(examined.stdout).toContain('2 entries have failed and will be tried again')

    app.state.isDown = false
    app.ran.length = 0
    const redrive = ['inbox', 'redrive', '--inbox', app.file, '--yes']
    expect((await run([...redrive, '--since', '1h'])).stderr).toBe('nothing to redrive\n')
    expect((await run([...redrive, id])).stdout).toMatch(/^redriven 1 of 1 entry \(1 [a-z.]+\)\n$/)
    await app.worker.runOnce()
    expect(app.ran).toEqual(['client.created webhook', 'client.updated webhook'])
    expect((await run([...redrive, '--state', 'retry'])).stdout).toMatch(
      /^redriven 1 of 1 entry \(1 [a-z.]+\)\n$/,
    )
  })

  test('list continues after the previous page', async () => {
    const app = await oneOfEach()
    const ids: unknown[] = []
    let cursor: string[] = []
    for (let page = 0; page < 4; page++) {
      const args = ['inbox', 'list', '--inbox', app.file, '--limit', '1', ...cursor]
      const { records } = await runJson(args)
      ids.push(records[0]?.id)
      cursor = ['--cursor', String(records.at(-1)?.cursor)]
    }
    expect(new Set(ids).size).toBe(4)
  })

  test('show masks the payload, and --show-payload does not', async () => {
    const app = await oneOfEach()
    const id = await idOf(app, 'dead')
    const { text, code } = await told(app, ['show', '--inbox', 'inbox.db', id])
    await expect(text).toMatchFileSnapshot('transcripts/inbox-show.txt')
    expect(text).not.toMatch(people)
    expect(code).toBe(0)

    const open = await runJson(['inbox', 'show', '--inbox', app.file, id, '--show-payload'])
    expect(open.records).toMatchObject([
      {
        type: 'entry',
        id,
        state: 'dead',
        receivedName: 'request.approved',
        secretId: 'main',
        masked: false,
        payload: expect.stringContaining('robin@example.com'),
      },
    ])
  })

  test('show exits with 1 for a missing entry, and shows the others', async () => {
    const app = await oneOfEach()
    const id = await idOf(app, 'done')
    const { records, code } = await runJson(['inbox', 'show', '--inbox', app.file, 'nobody', id])
    expect(records).toMatchObject([
      { type: 'missing', id: 'nobody' },
      { type: 'entry', id },
    ])
    expect(code).toBe(1)
  })

  test('the beginning of an id is enough, and an ambiguous one lists the matching ids', async () => {
    const app = await oneOfEach()
    const dead = await idOf(app, 'dead')
    const ids = (await app.inbox.find({})).entries.map(({ id }) => id)
    const unique = Array.from({ length: 36 }, (_, at) => dead.slice(0, at + 1)).find(
      (start) => ids.filter((id) => id.startsWith(start)).length === 1,
    )
    const shown = await runJson(['inbox', 'show', '--inbox', app.file, unique ?? ''])
    expect(shown).toMatchObject({ code: 0, records: [{ type: 'entry', id: dead }] })
    const redriven = await runJson(['inbox', 'redrive', '--inbox', app.file, unique ?? ''])
    expect(redriven.records).toEqual([{ type: 'redriven', entries: 1, of: 1 }])
    for (const args of [['show'], ['redrive'], ['replay', '--yes'], ['dismiss', '--yes']]) {
      const { code, stderr } = await run(['inbox', ...args, '--inbox', app.file, dead.slice(0, 4)])
      expect(code).toBe(2)
      for (const id of ids.slice(0, 3)) expect(stderr).toContain(id)
    }
  })

  test('a payload is laid out, one field a line', async () => {
    const app = await oneOfEach()
    const args = ['inbox', 'show', '--inbox', app.file, await idOf(app, 'dead'), '--show-payload']
    const { stdout } = await run(args)
    expect(stdout).toMatch(/^ {2}"event": "request\.approved",$/m)
    expect(stdout).toMatch(/^ {4}"subjectEmail": "robin@example\.com",$/m)
  })

  test('stats counts by state', async () => {
    const app = await oneOfEach()
    const { text } = await told(app, ['stats', '--inbox', 'inbox.db'])
    await expect(text).toMatchFileSnapshot('transcripts/inbox-stats.txt')
    const { records } = await runJson(['inbox', 'stats'], { env: { IDV_INBOX: app.file } })
    const counts = { stored: 1, leased: 0, retry: 0, done: 1, dead: 1, skipped: 1 }
    expect(records).toMatchObject([{ type: 'stats', ...counts }])
  })
})

describe('working, beside the application that owns the file', () => {
  test('redrive asks for a yes; then the application’s worker runs the entry', async () => {
    const app = await oneOfEach()
    const args = ['inbox', 'redrive', '--inbox', app.file, '--state', 'dead']
    const refused = await run(args)
    expect(refused.stderr).toContain('1 entry of')
    expect(refused.stderr).toContain('pass --yes')
    expect(refused.code).toBe(2)
    expect(await idOf(app, 'dead')).not.toBe('')

    const { records, code } = await runJson([...args, '--yes'])
    expect(records).toEqual([{ type: 'redriven', entries: 1, of: 1 }])
    expect(code).toBe(0)
    app.ran.length = 0
    await app.worker.runOnce()
    expect(app.ran).toContain('verification.approved webhook')
  })

  test('redrive by a filter does not touch the evidence of a conflict', async () => {
    const app = await oneOfEach()
    const by = await run(['inbox', 'redrive', '--inbox', app.file, '--since', '1h', '--yes'])
    expect(by.stdout).toMatch(/^redriven 1 of 1 entry \(1 [a-z.]+\)\n$/)
    expect(by.stderr).toContain('1 entry skipped (CONFLICT or DISMISSED): pass their ids')
  })

  test('redrive of a named entry asks nothing, replay and dismiss of one do', async () => {
    const app = await oneOfEach()
    for (const [action, state] of [
      ['replay', 'done'],
      ['dismiss', 'dead'],
    ] as const) {
      const asked = await run(['inbox', action, '--inbox', app.file, await idOf(app, state)])
      expect(asked.stderr).toContain('pass --yes')
      expect(asked.code).toBe(2)
    }
    const named = ['inbox', 'redrive', '--inbox', app.file, await idOf(app, 'skipped')]
    expect((await run(named)).stdout).toMatch(/^redriven 1 of 1 entry \(1 [a-z.]+\)\n$/)
  })

  test('redrive of everything by no choice at all is refused', async () => {
    const app = await oneOfEach()
    const { stderr, code } = await run(['inbox', 'redrive', '--inbox', app.file, '--yes'])
    const filters = '--state dead, --state skipped, --state retry or --since 7d'
    expect(stderr).toContain(`no entries chosen: pass their ids, or a filter such as ${filters}`)
    const env = { IDV_SINCE: '7d' }
    const replay = await run(['inbox', 'replay', '--inbox', app.file, '--yes'], { env })
    expect(replay.stderr).toContain('pass their ids, or a filter such as --since 7d\n')
    expect(code).toBe(2)
  })

  test('an empty variable of the shell is no filter', async () => {
    const app = await oneOfEach()
    for (const option of ['search', 'name', 'tenant']) {
      const args = ['inbox', 'dismiss', '--inbox', app.file, `--${option}=`, '--yes']
      const { stderr, code } = await run(args)
      expect(stderr).toContain('It is empty: leave the option out, or pass a text.')
      expect(code).toBe(2)
    }
    expect(await app.inbox.stats()).toMatchObject({ dead: 1 })
    await expect(app.inbox.redrive({ search: '' })).rejects.toThrow('redrive: search is empty')
  })

  test('replay runs done entries again, and says why it cannot run others', async () => {
    const app = await oneOfEach()
    const ids = [await idOf(app, 'done'), await idOf(app, 'dead')]
    const { records, code } = await runJson([
      'inbox',
      'replay',
      '--inbox',
      app.file,
      ...ids,
      '--yes',
    ])
    expect(records).toEqual([
      { type: 'refused', id: ids[1], reason: 'is dead, not done' },
      { type: 'replayed', entries: 1, of: 1 },
    ])
    expect(code).toBe(1)
    app.ran.length = 0
    await app.worker.runOnce()
    expect(app.ran).toContain('verification.created replay')
  })

  test('dismiss settles a dead entry for good', async () => {
    const app = await oneOfEach()
    const id = await idOf(app, 'dead')
    expect((await run(['inbox', 'dismiss', '--inbox', app.file, id, '--yes'])).code).toBe(0)
    expect(await app.inbox.get(id)).toMatchObject({ state: 'skipped', reason: 'DISMISSED' })
  })

  test('forget erases the payloads of a person, and prints how many', async () => {
    const app = await oneOfEach()
    const args = ['inbox', 'forget', '--inbox', app.file, 'verification:ver_2', 'client:ver_3']
    const asked = await run(args)
    expect(asked.stderr).toContain(
      'this permanently erases 3 payloads of verification:ver_2, client:ver_3',
    )
    expect(asked.code).toBe(2)
    const { records, code } = await runJson([...args, '--yes'])
    expect(records).toMatchObject([
      { type: 'forgotten', entity: 'verification:ver_2', payloads: 1 },
      { type: 'forgotten', entity: 'client:ver_3', payloads: 2 },
      { type: 'summary', entities: 2, of: 2, payloads: 3 },
    ])
    expect(code).toBe(0)
    const { entries } = await app.inbox.find({ entity: 'verification:ver_2' })
    expect(entries).toMatchObject([{ erased: true }])
  })

  test('forget of an id without a type is a mistake in the call', async () => {
    const { stderr, code } = await run(['inbox', 'forget', '--inbox', 'x.db', 'person1'])
    expect(stderr).toContain('Pass verification:<id> or client:<id>')
    expect(code).toBe(2)
  })
})

describe('which inbox', () => {
  test('none is a mistake in the call, and a file that is not there is not made', async () => {
    const cwd = folder()
    const none = await run(['inbox', 'stats'], { cwd })
    expect(none.stderr).toContain('no inbox given: pass --inbox <file>, or set IDV_INBOX')
    expect(none.code).toBe(2)
    const missing = await runJson(['inbox', 'stats', '--inbox', 'typo.db'], { cwd })
    expect(missing.code).not.toBe(0)
    expect(statSync(join(cwd, 'typo.db'), { throwIfNoEntry: false })).toBeUndefined()
  })

  test('a file that is no inbox is refused', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'notes.db'), 'not a database at all, but long enough to look at it')
    const { stderr, code } = await run(['inbox', 'list', '--inbox', 'notes.db'], { cwd })
    expect(stderr).not.toMatch(/\n {4}at /)
    expect(code).toBe(1)
  })

  test('the config file may give one', async () => {
    const app = await oneOfEach()
    const config = `module.exports = { inbox: './inbox.db' }\n`
    writeFileSync(join(app.cwd, 'idv-webhooks.config.js'), config)
    const { records } = await runJson(['inbox', 'stats'], { cwd: app.cwd })
    expect(records).toMatchObject([{ type: 'stats', dead: 1 }])
  })

  test('a sealed one needs its key, from the environment', async () => {
    const app = await oneOfEach({ encryption: { key: ownKey } })
    const args = ['inbox', 'show', '--inbox', app.file, await idOf(app, 'dead'), '--show-payload']
    const without = await run(args)
    expect(without.stderr).toContain('the inbox is encrypted: set IDV_INBOX_KEY')
    expect(without.stdout).toBe('')
    const other = await run(args, { env: { IDV_INBOX_KEY: ownKey.replace('YYYY', 'ZZZZ') } })
    expect(other.stderr).toContain('IDV_INBOX_KEY is not the key')
    expect(other.stderr).not.toContain('ZZZZ')
    const { stdout, code } = await run(args, { env: { IDV_INBOX_KEY: ownKey } })
    expect(stdout).toContain('robin@example.com')
    expect(code).toBe(0)
  })
})

describe('at a terminal', () => {
  test('a typed yes is consent, and there is colour', async () => {
    const app = await oneOfEach()
    const args = ['inbox', 'redrive', '--inbox', app.file, '--state', 'dead']
    const { screen, code } = await runAtTerminal(args, { input: 'yes\r' })
    expect(screen).toContain('Type yes to continue:')
    expect(screen).toContain('redriven 1 of 1 entry')
    expect(code).toBe(0)
    const list = await runAtTerminal(['inbox', 'list', '--inbox', app.file, '--state', 'done'])
    expect(list.screen).toContain('\u001b[32mdone')
  })

  test('an entry that was dismissed during the prompt is not redriven', async () => {
    const app = await oneOfEach()
    const id = await idOf(app, 'dead')
    const { until, press, ended } = startAtTerminal([
      ...['inbox', 'redrive', '--inbox', app.file, '--since', '1h'],
    ])
    await until(/Type yes to continue:/)
    expect(await app.inbox.dismiss(id)).toBe(true)
    press('yes\r')
    const { screen, code } = await ended
    expect(screen).toContain('redriven 0 of 1 entry')
    expect(code).toBe(1)
    expect(await app.inbox.get(id)).toMatchObject({ state: 'skipped', reason: 'DISMISSED' })
  })

  test('anything else is none, and nothing is done', async () => {
    const app = await oneOfEach()
    const args = ['inbox', 'forget', '--inbox', app.file, 'client:ver_3']
    const { screen, code } = await runAtTerminal(args, { input: 'no\r' })
    expect(screen).toContain('aborted: not confirmed')
    expect(code).toBe(2)
    expect((await app.inbox.find({ entity: 'client:ver_3' })).entries[0]?.erased).toBe(false)
  })
})

describe('migrate status', () => {
  const day = 86_400_000
  const ago = (days: number) => new Date(Date.now() - days * day)

  test('an inbox in which legacy names arrive says wait, with what came and when', async () => {
    const app = await oneOfEach()
    const { records, code } = await runJson(['migrate', 'status', '--inbox', app.file])
    expect(records).toMatchObject([
      { type: 'evidence', source: 'inbox', arrivals: 4 },
      { type: 'legacy', receivedName: 'request.approved', arrivals: 1, secretId: 'main' },
      { type: 'status', safe: false, quietDays: 0, days: 30 },
    ])
    expect(code).toBe(1)
  })

  const line = (at: Date, receivedName: string, kind = 'accepted') =>
    JSON.stringify({ type: 'outcome', outcome: kind, kind, at, receivedName, secretId: 'old' })

  /** Every day from so many ago until today. */
  const daysOf = (many: number) => Array.from({ length: many + 1 }, (_, at) => many - at)

  const judged = async (lines: readonly string[], ...flags: readonly string[]) => {
    const cwd = folder()
    writeFileSync(join(cwd, 'webhooks.log'), lines.join('\n'))
    const ran = await runJson(['migrate', 'status', '--log', 'webhooks.log', ...flags], { cwd })
    return { ...ran, status: ran.records.find(({ type }) => type === 'status') }
  }

  test('days in which nothing came do not count', async () => {
    const gap = [line(ago(81), 'request.created'), line(ago(1), 'verification.created')]
    const { code, status } = await judged(gap)
    expect(code).toBe(1)
    expect(status).toMatchObject({ safe: false, quietDays: 1 })
  })

  test('a log with an outcome that cannot be read is not safe', async () => {
    const sound = daysOf(40).map((one) => line(ago(one), 'verification.created'))
    const cut = line(ago(3), 'request.created').slice(0, 60)
    expect(await judged(sound)).toMatchObject({ code: 0 })
    const { code, stderr, status } = await judged([...sound, cut])
    expect(code).toBe(1)
    expect(status).toMatchObject({ safe: false, unread: 1 })
    expect(stderr).toContain('1 outcome could not be read')
  })

  test.each([
    ['text after it', (one: string) => `2026 app[{web}]: ${one} host=a1 trace={x}`],
    [
      'JSON around its text',
      (one: string) => JSON.stringify({ log: `${one}\n`, stream: 'stdout' }),
    ],
    ['JSON around it', (one: string) => `{"level":"info","message":${one}}`],
  ])('a shipper that puts %s hides nothing', async (_, ship) => {
    const { code, status } = await judged([
      ...daysOf(40).map((one) => ship(line(ago(one), 'verification.created'))),
      ship(line(ago(2), 'request.created')),
    ])
    expect(code).toBe(1)
    expect(status).toMatchObject({ safe: false, quietDays: 2, unread: 0 })
  })

  test.each([
    ['a list', (all: readonly string[]) => `[${all.join(',')}]`],
    [
      'their texts',
      (all: readonly string[]) => JSON.stringify(all.map((one) => ({ message: one }))),
    ],
    ['one text', (all: readonly string[]) => JSON.stringify({ log: all.join('\n') })],
    ['one after the other', (all: readonly string[]) => all.join(' ')],
  ])('a shipper that puts many outcomes into one line as %s hides nothing', async (_, ship) => {
    const daily = daysOf(40).map((one) =>
      ship([line(ago(one), 'verification.created'), line(ago(one), 'client.created')]),
    )
    expect((await judged(daily)).status).toMatchObject({ safe: true, unread: 0 })
    const all = [line(ago(2), 'verification.created'), line(ago(2), 'request.created')]
    const { code, status } = await judged([...daily, ship(all)])
    expect([code, status]).toMatchObject([1, { safe: false, quietDays: 2, unread: 0 }])
    const cut = ship([line(ago(3), 'client.created'), line(ago(3), 'request.created').slice(0, 60)])
    expect((await judged([...daily, cut])).status).toMatchObject({ safe: false, unread: 1 })
  })

  test('untrusted lines with thousands of backslashes do not delay the command', async () => {
    const daily = daysOf(40).map((one) => line(ago(one), 'verification.created'))
    const strange = Array.from({ length: 200 }, () => `GET /?${'\\'.repeat(15_000)}`)
    expect((await judged([...daily, ...strange])).status).toMatchObject({ safe: true, unread: 0 })
    // Nothing is known of such a line, and so it is not safe.
    const open = ['', '\\'].map((end) => `{"type":"outcome"{${'\\"'.repeat(15_000)}${end}`)
    const lines = Array.from({ length: 20 }, () => open).flat()
    const deep = `${'{"a":'.repeat(20_000)}{"type":"outcome"}${'}'.repeat(20_000)}`
    const { status } = await judged([...daily, ...lines, deep])
    expect(status).toMatchObject({ safe: false, unread: 41 })
  })

  test.each([
    ['compressed', (text: string) => gzipSync(text)],
    [
      'UTF-16, as a redirection of PowerShell writes',
      (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le'),
    ],
    [
      'a table with doubled quotes',
      (text: string) => Buffer.from(`"${text.replaceAll('"', '""')}"\n`),
    ],
    ['in a form of its own', () => Buffer.from('accepted request.created\n')],
  ])('a further log that is %s is never safe', async (_, write) => {
    const cwd = folder()
    const sound = daysOf(40).map((one) => line(ago(one), 'verification.created'))
    writeFileSync(join(cwd, 'one.log'), sound.join('\n'))
    const args = ['migrate', 'status', '--log', 'one.log']
    expect(await run(args, { cwd })).toMatchObject({ code: 0 })
    writeFileSync(join(cwd, 'other.log'), write(line(ago(1), 'request.created')))
    expect(await run([...args, '--log', 'other.log'], { cwd })).toMatchObject({ code: 1 })
  })

  test.each([
    ['silent for as long as asked', 14, [20, 15], 0, { safe: true, quietDays: 15 }],
    ['silent for less', 30, [20, 15], 1, { safe: false, quietDays: 15 }],
    ['none was ever seen', 14, [], 0, { safe: true, quietDays: 41 }],
  ])('a log: %s', async (_, days, legacyDays, code, verdict) => {
    const cwd = folder()
    const lines = [
      'a line of another program',
      ...daysOf(40).map((one) => line(ago(one), 'verification.created')),
      ...legacyDays.map((one) => `2026 app: ${line(ago(one), 'request.created')}`),
      '{"outcome": half a line of another program',
    ]
    writeFileSync(join(cwd, 'webhooks.log'), lines.join('\n'))
    const args = ['migrate', 'status', '--log', 'webhooks.log', '--days', String(days)]
    const ran = await runJson(args, { cwd })
    expect(ran.records.at(-1)).toMatchObject({ type: 'status', ...verdict })
    expect(ran.code).toBe(code)
  })

  test('silence in which nothing came at all proves nothing', async () => {
    const ran = await run(['migrate', 'status', '--log', '-'], { input: 'nothing here\n' })
    expect(ran.stdout).toContain('no event arrived at all, which proves nothing')
    expect(ran.code).toBe(1)
  })

  test('a log that is not there is said', async () => {
    const ran = await run(['migrate', 'status', '--log', 'gone.log'], { cwd: folder() })
    expect(ran.stderr).toContain('gone.log does not exist')
    expect(ran.code).toBe(2)
  })

  test('a forged legacy name does not hold it back', async () => {
    const cwd = folder()
    const forged = JSON.stringify({ type: 'outcome', kind: 'rejected', at: ago(0), outcome: 'x' })
    const lines = [...daysOf(40).map((one) => line(ago(one), 'verification.created')), forged]
    writeFileSync(join(cwd, 'webhooks.log'), lines.join('\n'))
    const { code } = await run(['migrate', 'status', '--log', 'webhooks.log'], { cwd })
    expect(code).toBe(0)
  })
})

describe('doctor looks at the inbox', () => {
  const env = { WEBHOOK_SECRET: secret }

  test('that is sound', async () => {
    const app = await application({ encryption: { key: ownKey } })
    const options = { env: { ...env, IDV_INBOX_KEY: ownKey } }
    const { records } = await runJson(['doctor', '--inbox', app.file], options)
    const inbox = records.filter(({ name }) => String(name).startsWith('inbox'))
    expect(inbox.length).toBeGreaterThan(5)
    expect(inbox.filter(({ state }) => state !== 'ok')).toEqual([])
  })

  test('whose file is damaged where no command would look', async () => {
    const app = await oneOfEach()
    await app.inbox.close()
    const handle = openSync(app.file, 'r+')
    writeSync(handle, Buffer.alloc(64, 7), 0, 64, fstatSync(handle).size - 2048)
    closeSync(handle)
    expect((await run(['inbox', 'stats', '--inbox', app.file])).code).toBe(0)
    const { records, code } = await runJson(['doctor', '--inbox', app.file], { env })
    expect(records.find(({ name }) => name === 'inbox')).toMatchObject({
      state: 'failed',
      message: expect.stringContaining('.recover'),
    })
    expect(code).toBe(1)
  })

  test.each([
    [20, 'ok'],
    [76, 'warning'],
    [400, 'failed'],
  ])('whose entry has been waiting for %i s: %s', async (seconds, state) => {
    const now = () => new Date(Date.now() - seconds * 1000)
    const app = await application({ now })
    await app.deliver('client.created', '1')
    const { records } = await runJson(['doctor', '--inbox', app.file], { env })
    const found = records.find(({ name }) => name === 'inbox worker')
    expect(found?.state).toBe(state)
    if (state !== 'ok') expect(found?.message).toContain('createWorker(receiver).start()')
  })

  test('that has dead letters, is readable at rest, and that no worker drains', async () => {
    const app = await oneOfEach({ now: () => new Date(Date.now() - 3_600_000) })
    const { records, code } = await runJson(['doctor', '--inbox', app.file], { env })
    const state = (name: string) => records.find((one) => one.name === `inbox ${name}`)?.state
    expect([state('dead letters'), state('encryption'), state('worker')]).toEqual([
      'warning',
      'warning',
      'failed',
    ])
    expect(code).toBe(1)
  })
})
