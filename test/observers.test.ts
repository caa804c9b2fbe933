// What the default observer tells, and what a diagnosis reads, by where the program runs.
import { createReceiver, sign, verify } from 'idv-webhooks'
import { afterEach, expect, test, vi } from 'vitest'

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
  await new Promise((resolve) => setTimeout(resolve, 50))
  process.off('warning', hear)
  return warnings.join('\n')
}

async function refusedTwice() {
  const receiver = createReceiver({ secret })
  const headers = await sign('{"a":1}', { secret })
  for (let at = 0; at < 2; at++) await receiver.receive({ body: bytes('{ "a": 1 }'), headers })
}

test('the first refusal of each code is diagnosed outside production, and none within', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  const told = await warningsOf(refusedTwice)
  expect(told.match(/SIGNATURE_MISMATCH/g)).toHaveLength(1)
  expect(told).toMatch(/SIGNATURE_MISMATCH: .{20,}/)
  vi.stubEnv('NODE_ENV', 'production')
  expect(await warningsOf(refusedTwice)).toBe('')
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
