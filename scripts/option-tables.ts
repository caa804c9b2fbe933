// The tables of docs/options.md, made from the types and their docstrings: `node scripts/option-tables.ts`.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '..')
const page = join(root, 'docs/options.md')

interface Row {
  readonly name: string
  readonly standard: string
  readonly text: string
}

/** The page as it is, and with its tables as the types say. */
export function optionTables(): { readonly now: string; readonly made: string } {
  const now = readFileSync(page, 'utf8')
  const types = interfacesOf('src')
  const made = now.replace(
    /^(<!--from (.*?)(?: without (.*?))?-->\n).*?^(<!--end-->)/gms,
    (_, head: string, names: string, without: string | undefined, end: string) => {
      const left = new Set(without?.split(' '))
      const rows = new Map<string, Row>()
      for (const name of names.split(' ')) {
        const type = types.get(name)
        if (!type) throw new Error(`docs/options.md names ${name}, which no file of src declares`)
        for (const member of type.members) {
          const key = member.name?.getText() ?? ''
          if (!left.has(key)) rows.set(key, rowOf(member, name))
        }
      }
      return `${head}\n${tableOf([...rows.values()])}\n${end}`
    },
  )
  return { now, made }
}

function interfacesOf(folder: string): ReadonlyMap<string, ts.InterfaceDeclaration> {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const types = new Map<string, ts.InterfaceDeclaration>()
  for (const file of files.filter((name) => name.endsWith('.ts'))) {
    const text = readFileSync(join(root, folder, file), 'utf8')
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    for (const one of source.statements.filter(ts.isInterfaceDeclaration)) {
      types.set(one.name.text, one)
    }
  }
  return types
}

/** The first paragraph of a member's docstring, and its `@default`. */
function rowOf(member: ts.TypeElement, type: string): Row {
  const name = member.name?.getText() ?? ''
  const [doc] = ts.getJSDocCommentsAndTags(member).filter(ts.isJSDoc)
  const [text = ''] = (ts.getTextOfJSDocComment(doc?.comment) ?? '').split('\n\n')
  if (text === '') throw new Error(`${type}.${name} has no docstring, and docs/options.md shows it`)
  const tag = ts.getJSDocTags(member).find(({ tagName }) => tagName.text === 'default')
  const parameters = ts.isMethodSignature(member)
    ? `(${member.parameters.map((one) => one.name.getText()).join(', ')})`
    : ''
  const standard = ts.getTextOfJSDocComment(tag?.comment) ?? ''
  return { name: `${name}${parameters}`, standard, text: text.replaceAll(/\s+/g, ' ') }
}

function tableOf(rows: readonly Row[]): string {
  const hasStandards = rows.some(({ standard }) => standard !== '')
  const lines = rows.map(({ name, standard, text }) => {
    const cells = [`\`${name}\``, ...(hasStandards ? [standard && `\`${standard}\``] : []), text]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  })
  const head = hasStandards
    ? '| name | default | meaning |\n|---|---|---|'
    : '| name | meaning |\n|---|---|'
  return `${head}\n${lines.join('\n')}\n`
}

if (import.meta.main) writeFileSync(page, optionTables().made)
