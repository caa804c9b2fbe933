// The types of every door as text, without comments: what changes in it changes for users. What a
// door exports stands under the door; what its types are made of, but nobody can import, at the end.
import { readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import ts from 'typescript'

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly import?: { readonly types: string } }>>
}

/** The report on the built package in `root`. */
export function apiReport(root: string): string {
  const text = readFileSync(join(root, 'package.json'), 'utf8')
  const { exports } = JSON.parse(text) as Manifest
  const doors = Object.entries(exports).flatMap(([door, { import: found }]) =>
    found ? [{ name: door.replace(/^\./, 'idv-webhooks'), file: resolve(root, found.types) }] : [],
  )
  return new Report(doors.map(({ file }) => file)).of(doors)
}

const fence = (code: string) => `\`\`\`ts\n${code}\n\`\`\``

class Report {
  readonly #program: ts.Program
  readonly #checker: ts.TypeChecker
  readonly #dist: string
  /** The door that shows a symbol. */
  readonly #shown = new Map<ts.Symbol, string>()
  readonly #hidden = new Map<ts.Symbol, string>()

  constructor(files: readonly string[]) {
    this.#dist = dirname(files[0] ?? '')
    this.#program = ts.createProgram(files, {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2023,
      strict: true,
      types: [],
    })
    this.#checker = this.#program.getTypeChecker()
  }

  of(doors: readonly { readonly name: string; readonly file: string }[]): string {
    const exported = doors.map(({ name, file }) => ({ name, symbols: this.#exportsOf(file) }))
    for (const { name, symbols } of exported) {
      for (const { symbol } of symbols) if (!this.#shown.has(symbol)) this.#shown.set(symbol, name)
    }
    const sections = exported.map(({ name, symbols }) => {
      const parts = symbols.map(({ as, symbol }) => {
        const first = this.#shown.get(symbol)
        return first === name ? this.#textOf(symbol) : `// ${as}: see ${first}`
      })
      return `## ${name}\n\n${fence(parts.join('\n\n'))}`
    })
    // A hidden type may be made of others, which the walk adds behind it.
    const hidden = new Set<string>()
    for (const [symbol] of this.#hidden) hidden.add(this.#textOf(symbol))
    const rest = [...hidden].sort().join('\n\n')
    const head =
      '# The types of every door\n\nWritten by `npm run reports`; a test holds it to the build. What changes here changes for users.'
    return `${[head, ...sections, `## Types without a name of their own\n\n${fence(rest)}`].join('\n\n')}\n`
  }

  #exportsOf(file: string) {
    const source = this.#program.getSourceFile(file)
    const module = source && this.#checker.getSymbolAtLocation(source)
    if (!module) throw new Error(`${file} has no exports: run npm run build first`)
    const all = this.#checker.getExportsOfModule(module)
    return all
      .map((symbol) => ({ as: symbol.name, symbol: this.#resolved(symbol) }))
      .sort((one, other) => (one.as < other.as ? -1 : 1))
  }

  #resolved(symbol: ts.Symbol): ts.Symbol {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }

  #textOf(symbol: ts.Symbol): string {
    const declared = (symbol.declarations ?? []).map((one) => {
      // `const` stands two nodes above the name that it declares.
      const whole = ts.isVariableDeclaration(one) ? one.parent.parent : one
      this.#noteParts(whole)
      return printed(whole)
    })
    return declared.join('\n')
  }

  /** Notes the types of this package that are named in a declaration and exported by no door. */
  #noteParts(node: ts.Node): void {
    if (ts.isIdentifier(node)) {
      const found = this.#checker.getSymbolAtLocation(node)
      const symbol = found && this.#resolved(found)
      const [declared] = symbol?.declarations ?? []
      const isOwn = declared?.getSourceFile().fileName.startsWith(this.#dist)
      const isType = declared?.parent !== undefined && ts.isSourceFile(declared.parent)
      if (symbol && isOwn && isType && !this.#shown.has(symbol)) {
        this.#hidden.set(symbol, symbol.name)
      }
    }
    node.forEachChild((child) => this.#noteParts(child))
  }
}

const printer = ts.createPrinter({ removeComments: true })

function printed(node: ts.Node): string {
  const text = printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile())
  // The bundler of types numbers what has the same name in two files.
  return text.replace(/^(?:export )?(?:declare )?/, '').replaceAll(/\$\d+\b/g, '')
}
