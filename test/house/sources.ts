// The source files of the house as the house tests read them: text, syntax tree, room and imports.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '../..')

/** Every file below a folder whose name ends in `ending`, relative to the root. */
export function filesIn(folder: string, ending: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file))
    .sort()
}

/** Every TypeScript file of the package. */
export const sources = ['src', 'adapters', 'tools'].flatMap((folder) => filesIn(folder, '.ts'))

export function textOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function syntaxOf(file: string): ts.SourceFile {
  return ts.createSourceFile(file, textOf(file), ts.ScriptTarget.Latest, true)
}

/** Calls `visit` with every node of a file. */
export function eachNode(file: string, visit: (node: ts.Node, source: ts.SourceFile) => void) {
  const source = syntaxOf(file)
  const walk = (node: ts.Node): void => {
    visit(node, source)
    ts.forEachChild(node, walk)
  }
  walk(source)
}

export interface Import {
  readonly from: string
  /** A file of the house, relative to the root, or the name of a package. */
  readonly to: string
  readonly typeOnly: boolean
}

/** Every import and re-export of a file: static, dynamic, and `import('…')` types. */
export function importsOf(file: string): Import[] {
  const found: Import[] = []
  const add = (specifier: ts.Node | undefined, typeOnly: boolean) => {
    if (!specifier || !ts.isStringLiteralLike(specifier)) return
    const { text } = specifier
    const local = text.startsWith('.')
    const to = local ? relative(root, resolve(root, dirname(file), text)) : text
    found.push({ from: file, to, typeOnly })
  }
  eachNode(file, (node) => {
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    } else if (ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, node.isTypeOnly)
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, true)
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], false)
    }
  })
  return found
}
