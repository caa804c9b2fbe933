import { resolve } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')

test('options accept undefined, even with exactOptionalPropertyTypes', { timeout: 60_000 }, () => {
  const file = resolve(root, 'test/house/exact-options.ts')
  const text = `
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
  const { config } = ts.readConfigFile(resolve(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root)
  const host = ts.createCompilerHost({ ...options, exactOptionalPropertyTypes: true })
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.getSourceFile = (name, version, ...rest) =>
    name === file
      ? ts.createSourceFile(name, text, version)
      : getSourceFile.call(host, name, version, ...rest)
  const program = ts.createProgram([file], { ...options, exactOptionalPropertyTypes: true }, host)
  const source = program.getSourceFile(file)
  const found = [
    ...program.getSyntacticDiagnostics(source),
    ...program.getSemanticDiagnostics(source),
  ]
  expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))).toEqual(
    [],
  )
})
