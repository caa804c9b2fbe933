// The guards of the sandbox read a path as its router does.
import { createSandbox } from 'idv-webhooks/sandbox'
import { expect, onTestFinished, test } from 'vitest'

test('a page of another site reaches no control route by an encoded path', async () => {
  const sandbox = await createSandbox()
  onTestFinished(() => sandbox.close())
  const status = async (path: string, headers: Record<string, string>, method = 'POST') =>
    (await sandbox.fetch(new Request(`http://localhost${path}`, { method, headers }))).status
  const foreign = { host: 'localhost', origin: 'http://evil.test' }
  const untokened = { host: 'localhost', 'sec-fetch-site': 'same-origin' }
  for (const path of ['/_sandbox/reset', '/%5Fsandbox/reset', '/%5fsandbox/%72eset']) {
    expect(await status(path, foreign), path).toBe(403)
    expect(await status(path, untokened), path).toBe(403)
    expect(await status(path, { host: 'evil.test' }), path).toBe(403)
    expect(await status(path, { host: 'localhost' }), path).toBe(200)
  }
})
