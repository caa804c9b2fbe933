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

/** A test of a handler passes a literal event, as the guide does. */
const guideOfLambda = () =>
  /```js\n(.*?)```/s.exec(readFileSync(resolve(root, 'docs/lambda.md'), 'utf8'))?.[1] ?? ''

test('what a user writes fits the types, even with exactOptionalPropertyTypes', {
  timeout: 60_000,
}, () => {
  const texts = [optionsOfTheClient, handlersOfLambda, guideOfLambda()]
  expect(texts[2]).toContain("version: '2.0'")
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
