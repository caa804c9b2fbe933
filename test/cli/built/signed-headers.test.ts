// Schemes that sign a further header: what sends a delivery signs it, or says which option is missing.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createReceiver, type SchemeDefinition, schemes } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import { capture, fixture, signedDelivery } from 'idv-webhooks/testing'
import { expect, test } from 'vitest'
import { secret, serve } from './apps.ts'
import { folder, run, runJson } from './run.ts'

const env = { WEBHOOK_SECRET: secret }

const definition: SchemeDefinition = {
  name: 'with-request',
  header: 'X-Signature',
  algorithm: 'sha256',
  key: 'utf8',
  encoding: 'hex',
  grammar: 'plain',
  signed: '{method}.{header:X-Request}.{body}',
  tolerance: 'none',
}
const scheme = schemes.define(definition)

/** A folder with the definition, and the address of a receiver that takes it. */
async function setUp() {
  const cwd = folder()
  writeFileSync(join(cwd, 'scheme.json'), JSON.stringify(definition))
  const url = await serve(toNode(createReceiver({ secret, scheme })))
  return { cwd, to: ['--to', url, '--scheme', 'scheme.json'] }
}

const header = ['--header', 'X-Request: r-7']
const missing = "signs the header x-request: pass --header 'x-request: …'"

test('send and doctor sign the header that is given, and name it before anything is sent', async () => {
  const { cwd, to } = await setUp()
  for (const command of [['send', 'client.created'], ['doctor']]) {
    expect(await run([...command, ...to, ...header], { cwd, env })).toMatchObject({ code: 0 })
    const { code, stdout, stderr } = await run([...command, ...to], { cwd, env })
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(missing)
  }
})

test('a capture is signed again with its own header', async () => {
  const { cwd, to } = await setUp()
  const event = { ...fixture('verification.approved'), event: 'request.approved' }
  const headers = { 'x-request': 'r-7' }
  const delivery = await signedDelivery(event, { secret, scheme, headers })
  for (const redact of [false, true]) {
    const made = await capture(delivery, { scheme, redact })
    writeFileSync(join(cwd, `${redact}.json`), JSON.stringify(made))
  }
  const replayed = await runJson(['replay', 'true.json', 'false.json', ...to, '--resign'], {
    cwd,
    env,
  })
  expect(replayed.records.at(-1)).toMatchObject({ taken: 2 })
})

test('a capture without the header is named, and nothing is sent', async () => {
  const { cwd, to } = await setUp()
  const made = await capture(await signedDelivery(fixture('client.created'), { secret }))
  writeFileSync(join(cwd, 'a.json'), JSON.stringify(made))
  const { code, stderr } = await run(['replay', 'a.json', ...to, '--resign'], { cwd, env })
  expect(code).toBe(2)
  expect(stderr).toContain('signs the header x-request, which a.json does not hold')
})
