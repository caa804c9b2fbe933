import { join, resolve } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const program = `
import { createReceiver } from './src/index.ts'
const receiver = createReceiver({ secret: 's' })
receiver.on('request.approved', () => {})
receiver.on('verification.approved', () => {})
receiver.on(['client.created', 'request.*'], () => {})
`

test('an editor strikes out a legacy name and nothing else', () => {
  const file = join(root, 'legacy-name-in-an-editor.ts')
  const read = (path: string) => (path === file ? program : ts.sys.readFile(path))
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const text = read(path)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => path === file || ts.sys.fileExists(path),
    readFile: read,
    directoryExists: ts.sys.directoryExists,
  })
  expect(service.getSemanticDiagnostics(file)).toEqual([])
  const struck = service.getSuggestionDiagnostics(file).filter((one) => one.reportsDeprecated)
  const lines = struck.map(({ start }) => program.slice(0, start).split('\n').length)
  expect(lines).toEqual([4, 6])
})
