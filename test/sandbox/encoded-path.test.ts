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

test('a page of another site has no control route read for it', async () => {
  const sandbox = await createSandbox()
  onTestFinished(() => sandbox.close())
  const status = async (site: string, mode: string, dest: string) => {
    const fetched = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest }
    const headers = { host: 'localhost', accept: '*/*', ...fetched }
    const request = new Request('http://localhost/_sandbox/subscriptions', { headers })
    return (await sandbox.fetch(request)).status
  }
  // An image or a script of another page sends no Origin.
  expect(await status('cross-site', 'no-cors', 'image')).toBe(403)
  expect(await status('same-site', 'no-cors', 'script')).toBe(403)
  expect(await status('cross-site', 'navigate', 'iframe')).toBe(403)
  expect(await status('cross-site', 'navigate', 'document')).toBe(200)
  expect(await status('same-origin', 'cors', 'empty')).toBe(200)
  expect(await status('none', 'navigate', 'document')).toBe(200)
})
