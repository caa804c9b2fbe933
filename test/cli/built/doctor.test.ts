import { describe, expect, test } from 'vitest'
import { apps, secret } from './apps.ts'
import { runJson } from './run.ts'

const env = { WEBHOOK_SECRET: secret }

const doctor = async (app: keyof typeof apps) => {
  const url = await apps[app]()
  const { records, code } = await runJson(['doctor', '--url', url], { env })
  const of = (type: string) => records.filter((record) => record.type === type)
  const [summary] = of('summary')
  const causes = of('cause').map(({ cause }) => cause)
  const fails = of('probe').filter(({ holds }) => !holds)
  return { code, causes, fails, advice: of('cause'), framework: summary?.framework }
}

describe('a sound receiver', () => {
  test.each([
    ['sound', 'unknown'],
    ['sound, express', 'express'],
    ['sound, fastify', 'fastify'],
  ] as const)('%s keeps every guarantee', async (app, framework) => {
    expect(await doctor(app)).toEqual({ code: 0, causes: [], fails: [], advice: [], framework })
  })
})

describe('a mistake is named with its fix', () => {
  test.each([
    ['express.json() first', 'body-consumed', 'express', /above app\.use\(express\.json\(\)\)/],
    ['express.json(), then JSON.stringify', 'reserialized-by-parser', 'express', /toExpress/],
    ['the default parser of Fastify', 'reserialized-by-parser', 'fastify', /toFastify/],
    ['the Pages Router with its body parser', 'body-consumed', 'next', /bodyParser: false/],
    ['a proxy that re-serialises', 'reserialized-on-the-way', 'unknown', /proxy/],
    ['a logger that adds a line break', 'newline-added', 'unknown', /logger/],
    ['a gateway that trims', 'newline-removed', 'unknown', /trim/],
    ['express.text() first', 'decoded-as-text', 'express', /express\.text\(\)/],
    ['another secret', 'secret-or-scheme', 'unknown', /WEBHOOK_SECRET/],
    ['no verification', 'not-verified', 'unknown', /mount a receiver/],
    ['a login page', 'redirected', 'unknown', /address it leads to/],
  ] as const)('%s', async (app, cause, framework, fix) => {
    const found = await doctor(app)
    expect(found.causes.filter((one) => !/^(parser-limit|unbounded)$/.test(String(one)))).toEqual([
      cause,
    ])
    expect(found.framework).toBe(framework)
    expect(found.advice[0]?.fix).toMatch(fix)
    expect(found.code).toBe(1)
  })
})
