import ts from 'typescript'
import { expect, test } from 'vitest'
import { errorPage, isWebhookError, type OutcomeCode, WebhookError } from '../../src/errors.ts'
import { failed, rejected } from '../../src/outcome/table.ts'
import { eachNode, filesIn, textOf } from './sources.ts'

const pages = filesIn('docs/errors', '.md')
const codeOf = (page: string) => page.slice(12, -3).toUpperCase().replaceAll('-', '_')

/** The members of a union of literals in errors.ts. */
function codesOf(name: string): string[] {
  const codes: string[] = []
  eachNode('src/errors.ts', (node) => {
    if (!ts.isTypeAliasDeclaration(node) || node.name.text !== name) return
    if (!ts.isUnionTypeNode(node.type)) return
    for (const type of node.type.types) {
      if (ts.isLiteralTypeNode(type) && ts.isStringLiteral(type.literal)) {
        codes.push(type.literal.text)
      }
    }
  })
  return codes
}

const outcomes = { ...rejected, ...failed }
const thrown = codesOf('WebhookErrorCode')
const warnings = codesOf('WarningCode')

const codes = [...Object.keys(outcomes), ...thrown, ...warnings]

test('every code has one row in errors.md, which links to its page or is its address', () => {
  expect(thrown.length).toBeGreaterThan(20)
  expect(warnings.length).toBeGreaterThan(5)
  const rows = [...textOf('docs/errors.md').matchAll(/^\| (.*?([A-Z]{2,}[A-Z_\d]+).*?) \| (\d*)/gm)]
  expect(rows.map(([, , code]) => code).sort()).toEqual(codes.toSorted())
  for (const [, cell, code = '', status] of rows) {
    const address = errorPage(code as OutcomeCode).split('docs/')[1] ?? ''
    const id = address.split('#')[1]
    expect(cell).toBe(id ? `<a id="${id}"></a>${code}` : `[${code}](${address})`)
    const [expected = ''] = outcomes[code as OutcomeCode] ?? []
    expect(status, code).toBe(`${expected}`)
  }
  const own = codes.map((code) => errorPage(code as OutcomeCode)).filter((at) => at.endsWith('.md'))
  expect(own.map((at) => at.split('idv-webhooks/')[1]).sort()).toEqual(pages)
})

test.each(pages)(
  '%s says what kind of code it is, the causes, how to tell, and the fix',
  (page) => {
    const code = codeOf(page)
    const text = textOf(page)
    const [status] = outcomes[code as keyof typeof outcomes] ?? []
    const opening = thrown.includes(code)
      ? 'A `WebhookError` is thrown. '
      : warnings.includes(code)
        ? `A process warning: \`IDV_${code}\`. `
        : `An outcome: \`${code in failed ? 'failed' : 'rejected'}\`, status ${status}. `
    expect(text).toContain(`# ${code}\n\n${opening}`)
    expect(text.match(/^## .*/gm)).toEqual(['## Causes', '## How to tell', '## How to fix it'])
    expect(text).toMatch(/## Causes\n\n- /)
    // A program that shows a code prints it.
    const [, printed] = /```text\n(.*?)```/s.exec(text) ?? []
    if (printed !== undefined) expect(printed).toContain(code)
  },
)

test('an error ends with its page, which is in the package', () => {
  const { name, files } = JSON.parse(textOf('package.json')) as Record<'name' | 'files', string>
  const error = new WebhookError('STORE_OWNED', 'it is open elsewhere')
  expect(error.message).toBe(`it is open elsewhere (${errorPage('STORE_OWNED')})`)
  expect(error.reason).toBe('it is open elsewhere')
  expect(Object.keys(error).sort()).toEqual(['code', 'name'])
  expect(isWebhookError(error)).toBe(true)
  const [, page] = errorPage('STORE_OWNED').split(`node_modules/${name}/`)
  expect(pages).toContain(page)
  expect(files).toContain('docs')
})
