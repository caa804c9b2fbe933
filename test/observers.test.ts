// The output of the default observer and the data that a diagnosis reads, by host.
import { setImmediate } from 'node:timers/promises'
import { type Around, createReceiver, logOutcomes, type Receiver, sign, verify } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
import { memoryStore } from 'idv-webhooks/inbox'
import { afterEach, expect, test, vi } from 'vitest'
import { event, setUp } from './inbox/admin.ts'

const secret = 'the-secret-of-the-observers'
const bytes = (text: string) => new TextEncoder().encode(text)

afterEach(() => {
  vi.unstubAllEnvs()
})

/** The warnings of a process while `work` runs. */
async function warningsOf(work: () => Promise<unknown>): Promise<string> {
  const warnings: string[] = []
  const hear = (warning: Error) => warnings.push(warning.message)
  process.on('warning', hear)
  await work()
  // Diagnoses wait for each other, so those of the work have ended with this one.
  const headers = await sign('{}', { secret })
  const proof = await verify({ body: bytes('[]'), headers }, { secret })
  if (!proof.ok) await proof.diagnose()
  await setImmediate()
  process.off('warning', hear)
  return warnings.join('\n')
}

/** Delivers a body that something changed on its way. */
async function refuse(receiver: Receiver, signed: string, arrived: string) {
  await receiver.receive({ body: bytes(arrived), headers: await sign(signed, { secret }) })
}

async function refusedTwice() {
  const receiver = createReceiver({ secret })
  for (let at = 0; at < 2; at++) await refuse(receiver, '{"a":1}', '{ "a": 1 }')
}

test('the first refusal of each code is diagnosed outside production, and none within', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const told = await warningsOf(refusedTwice)
  expect(told.match(/SIGNATURE_MISMATCH/g)).toHaveLength(1)
  expect(told).toMatch(/SIGNATURE_MISMATCH: .{20,}/)
  vi.stubEnv('NODE_ENV', 'production')
  expect(await warningsOf(refusedTwice)).toBe('')
})

test('a delivery without the header of the scheme says how to find what its sender does', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const told = await warningsOf(async () => {
    await createReceiver({ secret }).receive({ body: bytes('{}'), headers: { 'x-hub-sig': 'a' } })
  })
  expect(told).toMatch(/SIGNATURE_MISSING: .*capture --raw, then discover/)
})

test('a header that arrives twice is named by its part in the scheme', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const told = await warningsOf(async () => {
    const { 'x-service-signature': one = '' } = await sign('{}', { secret })
    const headers = [['x-service-signature', one] as const, ['x-service-signature', one] as const]
    await createReceiver({ secret }).receive({ body: bytes('{}'), headers })
  })
  expect(told).toMatch(/HEADER_AMBIGUOUS: .*\(signature, time or id\) arrived more than once/)
})

test('a refusal of the same code with another cause is diagnosed too', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const told = await warningsOf(async () => {
    const receiver = createReceiver({ secret })
    await receiver.receive({ body: bytes('{}'), headers: await sign('{}', { secret: 'another' }) })
    await refuse(receiver, '{"a":1}', '{ "a": 1 }')
    await refuse(receiver, '{"a":1}', '{"a":1}\n')
  })
  expect(told.match(/no configured secret|serialised differently|line break/g)).toHaveLength(3)
})

test('outside production a warning shows the whole error of a handler, and none within', async () => {
  const failing = async () => {
    const receiver = createReceiver({ secret })
    receiver.on('*', () => {
      throw new Error('no account for CANARY')
    })
    const body = bytes('{"event":"client.created","data":{"id":"c"}}')
    await receiver.receive({ body, headers: await sign(body, { secret }) })
  }
  vi.stubEnv('NODE_ENV', 'development')
  expect(await warningsOf(failing)).toContain('CANARY')
  vi.stubEnv('NODE_ENV', 'production')
  const told = await warningsOf(failing)
  expect(told).toContain('HANDLER_FAILED')
  expect(told).not.toContain('CANARY')
})

test('on Lambda, which sets no mode, no warning holds the error of a handler', async () => {
  vi.stubEnv('NODE_ENV', undefined)
  vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'webhooks')
  const told = await warningsOf(async () => {
    const receiver = createReceiver({ secret })
    receiver.on('*', () => Promise.reject(new Error('no account for CANARY')))
    const body = bytes('{"event":"client.created","data":{"id":"c"}}')
    await receiver.receive({ body, headers: await sign(body, { secret }) })
  })
  expect(told).toContain('HANDLER_FAILED')
  expect(told).not.toContain('CANARY')
})

test("the whole error has the application's frames, and none of this package", async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const ours = '    at #prove (/app/node_modules/idv-webhooks/dist/chunk-63KVPY57.cjs:1675:59)'
  const others = ['    at save (/app/src/save.js:7:5)', '    at run (node:internal/tasks:1:2)']
  const toldOf = (frames: readonly string[]) =>
    warningsOf(async () => {
      const receiver = createReceiver({ secret })
      receiver.on('*', () => {
        const stack = ['Error: no account', 'for ver_1', ...frames].join('\n')
        throw Object.assign(new Error('no account\nfor ver_1'), { stack })
      })
      const body = bytes('{"event":"client.created","data":{"id":"c"}}')
      await receiver.receive({ body, headers: await sign(body, { secret }) })
    })
  const last = '(shown once; see all with the observe option)'
  const [save, tasks] = others
  expect((await toldOf([ours, save ?? '', ours, tasks ?? ''])).split('\n').slice(-5)).toEqual([
    expect.stringMatching(/^webhook HANDLER_FAILED .*: Error: no account$/),
    ...['for ver_1', ...others, last],
  ])
  // Otherwise nothing would tell the place.
  expect((await toldOf([ours, tasks ?? ''])).split('\n').slice(-3)).toEqual([ours, tasks, last])
})

test('the whole error ends where a handler, or what surrounds it, was called: in a bundle too', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const fail = () => {
    throw new Error('no account')
  }
  const around: Around = async (run) => {
    await run()
    fail()
  }
  const handlers = { fail, returns: () => {}, later: async () => fail() }
  for (const [around_, handler] of [
    [undefined, 'fail'],
    [undefined, 'later'],
    [around, 'returns'],
    [around, 'fail'],
  ] as const) {
    const told = await warningsOf(async () => {
      const receiver = createReceiver({ secret, ...(around_ && { around: around_ }) })
      receiver.on('*', handlers[handler])
      const body = bytes('{"event":"client.created","data":{"id":"c"}}')
      await receiver.receive({ body, headers: await sign(body, { secret }) })
    })
    expect(told).toMatch(/: Error: no account\n {4}at .*observers\.test/)
    // Frames of this package are of src here, so no path gives them away: as in a bundle.
    expect(told).not.toMatch(/\/src\//)
  }
})

test('a warning shows an error of this package without its stack, outside production too', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const told = await warningsOf(async () => {
    const receiver = createReceiver({ secret: () => undefined })
    await receiver.receive({ body: bytes('{}'), headers: await sign('{}', { secret }) })
  })
  expect(told).toContain('the `secret` function returned undefined: set the environment variable')
  expect(told).not.toMatch(/\n {4}at /)
})

test('outside production the warning of a worker shows the whole error once, the inbox never', async () => {
  const told = async () => {
    const { inbox, worker, receiver, deliver } = setUp({ receiver: { observe: undefined } })
    const name = 'verification.approved'
    receiver.on(name, () => {
      throw new Error('no account for CANARY')
    })
    const warned = await warningsOf(async () => {
      await deliver(event(name))
      await worker.runOnce()
    })
    const [entry] = (await inbox.find({})).entries
    expect(entry).toMatchObject({ state: 'dead', attempts: 3 })
    expect(JSON.stringify(entry)).not.toContain('CANARY')
    return warned
  }
  vi.stubEnv('NODE_ENV', 'development')
  expect((await told()).match(/CANARY/g)).toHaveLength(1)
  vi.stubEnv('NODE_ENV', 'production')
  const inProduction = await told()
  expect(inProduction).toMatch(/failed for verification\.approved: Error at .*observers\.test\.ts/)
  expect(inProduction).not.toContain('CANARY')
})

test('a worker warns in production too that its store fails, once for each kind', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  const store = memoryStore()
  store.purge = () => Promise.reject(new RangeError('full of CANARY'))
  const { worker } = setUp({ store, retention: { done: 1 }, receiver: { observe: undefined } })
  const warned = await warningsOf(async () => {
    await worker.runOnce()
    await worker.runOnce()
  })
  expect(warned.match(/store failed at purge: RangeError .*observers\.test\.ts/g)).toHaveLength(1)
  expect(warned).not.toContain('CANARY')
})

test('outside production a worker warns until when an entry and its entity wait, and none within', async () => {
  const told = async () => {
    const retry = { attempts: 12, delays: [100_000], random: () => 1 }
    const { worker, receiver, deliver } = setUp({ retry, receiver: { observe: undefined } })
    receiver.on('*', () => {
      throw new Error('billing is down')
    })
    const { entryId } = (await deliver(event())) as { entryId: string }
    return { entryId, warned: await warningsOf(() => worker.runOnce()) }
  }
  vi.stubEnv('NODE_ENV', 'development')
  const { entryId, warned } = await told()
  expect(warned).toContain(
    `entry verification.approved failed at attempt 1 and runs again in 1 min 40 s, or now by npx idv-webhooks inbox redrive ${entryId.slice(0, 18)}`,
  )
  vi.stubEnv('NODE_ENV', 'production')
  expect((await told()).warned).not.toContain('runs again')
})

test('a refused probe of doctor leaves the warning to the first refusal of a sender', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const receiver = createReceiver({ secret })
  const refuse = (agent: string) =>
    warningsOf(() => receiver.receive({ body: bytes('{}'), headers: { 'User-Agent': agent } }))
  expect(await refuse('idv-webhooks-doctor')).toBe('')
  expect(await refuse('a-sender')).toContain('SIGNATURE_MISSING')
})

test('a wrong secret is named as what to compare, in the warning and in the log', async () => {
  const refused = async (observe?: ReturnType<typeof logOutcomes>) => {
    const receiver = createReceiver({ secret, ...(observe && { observe }) })
    const headers = await sign('{}', { secret: 'another-secret' })
    await receiver.receive({ body: bytes('{}'), headers })
  }
  vi.stubEnv('NODE_ENV', 'development')
  const advice = /compare the secret and the scheme with those of the sender/i
  expect(await warningsOf(refused)).toMatch(advice)
  const lines: string[] = []
  await refused(logOutcomes({ write: (line) => lines.push(line) }))
  await expect.poll(() => lines).toHaveLength(1)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ hint: expect.stringMatching(advice) })
})

test('an error that a driver threw is placed in the application that called it', async () => {
  const errors: string[] = []
  const receiver = createReceiver({
    secret,
    observe: (seen) => void (seen.type === 'attempt' && errors.push(seen.error ?? '')),
  })
  const frames = [
    'at run (node:sqlite:12:3)',
    'at Object.run (file:///app/node_modules/idv-webhooks/dist/chunk-A.js:1:2)',
    'at save (file:///app/src/save.js:7:5)',
  ]
  for (const count of [3, 2]) {
    receiver.on('*', () => {
      const stack = ['Error: boom', ...frames.slice(0, count)].join('\n    ')
      throw Object.assign(new Error('boom'), { stack })
    })
  }
  const body = bytes('{"event":"client.created","data":{"id":"c"}}')
  await receiver.receive({ body, headers: await sign(body, { secret }) })
  expect(errors).toEqual(['Error at save (file:///app/src/save.js:7:5)', `Error ${frames[0]}`])
})

test('bodies of more than 64 KiB are not parsed for a diagnosis, smaller ones are', async () => {
  const causeOf = async (letters: number) => {
    const event = { text: 'x'.repeat(letters) }
    const headers = await sign(JSON.stringify(event), { secret })
    const proof = await verify({ body: bytes(JSON.stringify(event, null, 2)), headers }, { secret })
    return proof.ok ? 'verified' : (await proof.diagnose())?.cause
  }
  expect(await causeOf(60_000)).toBe('body-reserialized')
  expect(await causeOf(70_000)).toBe(undefined)
})

test('forgeries on the machine of a developer are diagnosed ten times a minute', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  let asked = 0
  const now = () => {
    asked += 1
    return new Date('2026-03-01T12:00:00Z')
  }
  const receiver = createReceiver({ secret, now })
  const askedBy = async () => {
    const before = asked
    await refuse(receiver, '{"a":1}', '{ "a": 1 }')
    return asked - before
  }
  const first = await askedBy()
  for (let at = 1; at < 10; at++) expect(await askedBy()).toBe(first)
  expect(await askedBy()).toBeLessThan(first)
})

test('the host is kept awake for the lines that a diagnosis waits for', async () => {
  const lines: string[] = []
  const receiver = createReceiver({
    secret,
    observe: logOutcomes({ write: (line) => lines.push(line) }),
  })
  const waited: Promise<unknown>[] = []
  const context = { waitUntil: (work: Promise<unknown>) => waited.push(work) }
  const headers = { 'content-type': 'application/json', ...(await sign('{"a":1}', { secret })) }
  const request = new Request('http://x/', { method: 'POST', headers, body: '{ "a": 1 }' })
  await toFetch(receiver)(request, {}, context)
  expect([lines.length, waited.length]).toEqual([0, 2])
  await Promise.all(waited)
  expect(lines.join()).toContain('body-reserialized')
})

test('a host that refuses to be kept awake changes no outcome', async () => {
  let handled = 0
  const receiver = createReceiver({ secret, observe: async () => {} }).on('*', () => {
    handled += 1
  })
  const waitUntil = () => {
    throw new Error('This context has no ExecutionContext')
  }
  const body = '{"event":"client.created","data":{"id":"c"}}'
  const headers = { 'content-type': 'application/json', ...(await sign(body, { secret })) }
  const request = new Request('http://x/', { method: 'POST', headers, body })
  expect((await toFetch(receiver, { waitUntil })(request)).status).toBe(200)
  expect(handled).toBe(1)
})

test('outside production an inbox without a worker warns once; in production if a start failed', async () => {
  const toldWhen = (works: boolean, starts = true) =>
    warningsOf(async () => {
      let at = Date.now()
      const store = memoryStore()
      const { worker, deliver } = setUp({ store, now: () => new Date(at) })
      if (!starts) {
        const open = store.open.bind(store)
        store.open = () => Promise.reject(new Error('not up yet'))
        await expect(worker.start()).rejects.toThrow('not up yet')
        store.open = open
      }
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
      for (let time = 0; time < 2; time++) {
        await deliver(event())
        if (works) await worker.runOnce()
        at += 31_000
        await vi.advanceTimersByTimeAsync(31_000)
      }
      vi.useRealTimers()
    })
  vi.stubEnv('NODE_ENV', 'development')
  expect((await toldWhen(false)).match(/start a worker/g)).toHaveLength(1)
  expect(await toldWhen(true)).toBe('')
  vi.stubEnv('NODE_ENV', 'production')
  expect(await toldWhen(false)).not.toContain('worker')
  expect(await toldWhen(true, false)).not.toContain('worker')
  expect((await toldWhen(false, false)).match(/worker of this process could not/g)).toHaveLength(1)
})

test('an observer or a clock that throws is warned of once for each kind', async () => {
  let read = 0
  const forge = async (observe?: () => unknown) => {
    const now = () => {
      if (!observe && ++read % 2 === 0) throw new RangeError('no clock')
      return new Date()
    }
    const receiver = createReceiver({ secret, now, observe: observe ?? (() => {}) })
    for (let at = 0; at < 10; at++) await receiver.receive({ body: bytes('{}'), headers: {} })
  }
  let at = 0
  const kinds = [TypeError, RangeError]
  const fail = () => new (kinds[at++ % 2] ?? Error)('a slip')
  const thrown = await warningsOf(() =>
    forge(() => {
      throw fail()
    }),
  )
  expect(thrown.match(/observe threw \w+.*\(shown once\)/g)).toHaveLength(2)
  const rejected = await warningsOf(() => forge(() => Promise.reject(fail())))
  expect(rejected.match(/observe threw/g)).toHaveLength(2)
  expect((await warningsOf(() => forge())).match(/now threw RangeError/g)).toHaveLength(1)
})
