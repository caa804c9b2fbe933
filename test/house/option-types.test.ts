import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

const optionsOfTheClient = `
  import { type ApiClient, createClient, createLimiter, createReconciler, reconcile } from 'idv-webhooks/client'
  import type { Receiver } from 'idv-webhooks'
  declare const given: { [name: string]: never } | undefined
  export async function run(client: ApiClient, receiver: Receiver) {
    const report = await reconcile({ client, receiver, since: given?.since, until: given?.until, signal: given?.signal })
    createReconciler({ client, receiver, since: report.watermark, every: given?.every, now: given?.now })
    createClient({ baseUrl: 'x', apiKey: undefined, timeout: given?.timeout, retry: { retries: given?.retries } })
    createLimiter({ perMinute: given?.perMinute })
    await client.clients.list({}, { signal: given?.signal, timeout: given?.timeout })
  }
`

const handlersOfLambda = `
  import type { ALBHandler, APIGatewayProxyHandler, APIGatewayProxyHandlerV2, LambdaFunctionURLHandler } from 'aws-lambda'
  import { createReceiver } from 'idv-webhooks'
  import { toLambda } from 'idv-webhooks/lambda'
  const handler = toLambda(createReceiver({ secret: 'types-secret' }))
  export const rest: APIGatewayProxyHandler = handler
  export const http: APIGatewayProxyHandlerV2 = handler
  export const balancer: ALBHandler = handler
  export const url: LambdaFunctionURLHandler = handler
`

/** The programs in JavaScript of these pages, which readers paste into TypeScript. */
const pasted = ['README.md', ...['quick-start', 'lambda', 'testing'].map((at) => `docs/${at}.md`)]
const programs = () =>
  pasted
    .flatMap((page) => [...readFileSync(resolve(root, page), 'utf8').matchAll(/```js\n(.*?)```/gs)])
    .flatMap(([, program = '']) =>
      // JavaScript cannot say the types of its runner.
      program.includes('describeInboxStore') ? [] : [program],
    )

test("a user's code fits the types, even with exactOptionalPropertyTypes", {
  timeout: 60_000,
}, () => {
  const texts = [optionsOfTheClient, handlersOfLambda, ...programs()]
  expect(texts.filter((text) => text.includes("version: '2.0'"))).toHaveLength(1)
  expect(texts.length).toBeGreaterThanOrEqual(7)
  const files = new Map(texts.map((text, at) => [resolve(root, `test/house/exact-${at}.ts`), text]))
  const { config } = ts.readConfigFile(resolve(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const host = ts.createCompilerHost({ ...options, exactOptionalPropertyTypes: true })
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => files.has(name) || fileExists(name)
  host.getSourceFile = (name, version, ...rest) => {
    const text = files.get(name)
    if (text === undefined) return getSourceFile.call(host, name, version, ...rest)
    return ts.createSourceFile(name, text, version)
  }
  const exact = { ...options, exactOptionalPropertyTypes: true }
  const program = ts.createProgram([...files.keys()], exact, host)
  const found = [...files.keys()].flatMap((file) => {
    const source = program.getSourceFile(file)
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)]
  })
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual(
    [],
  )
})
