// Bundles a module and counts how often each of its branches runs: what a coverage-guided fuzzer
// steers by. The counters are inserted where control flow can go one way or another.
import { parse } from '@babel/parser'
import { build } from 'esbuild'
import MagicString from 'magic-string'

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface Instrumented {
  readonly code: string
  readonly counters: number
  /** Texts of the program, which a mutation may insert. */
  readonly dictionary: readonly string[]
}

/** Where a body may be entered or left out, by the type of its parent. */
const branches: Readonly<Record<string, readonly string[]>> = {
  IfStatement: ['consequent', 'alternate'],
  ForStatement: ['body'],
  ForOfStatement: ['body'],
  ForInStatement: ['body'],
  WhileStatement: ['body'],
  DoWhileStatement: ['body'],
  ConditionalExpression: ['consequent', 'alternate'],
  LogicalExpression: ['right'],
  ArrowFunctionExpression: ['body'],
  FunctionDeclaration: ['body'],
  FunctionExpression: ['body'],
  ClassMethod: ['body'],
  ClassPrivateMethod: ['body'],
  ObjectMethod: ['body'],
  CatchClause: ['body'],
}

/** Bundles `entry`, with the package's doors from source, and inserts the counters. */
export async function instrumented(
  entry: string,
  alias: Readonly<Record<string, string>>,
): Promise<Instrumented> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'es2023',
    alias: { ...alias },
    packages: 'external',
    define: { __VERSION__: '"0.0.0"' },
    logLevel: 'silent',
  })
  return insertCounters(outputFiles[0]?.text ?? '')
}

export function insertCounters(source: string): Instrumented {
  const text = new MagicString(source)
  const dictionary = new Set<string>()
  let counters = 0
  const count = () => `__counts[${counters++}]++`
  const enter = (child: Node) => {
    if (child.type === 'BlockStatement') text.appendRight(child.start + 1, `${count()};`)
    else if (/Statement$/.test(child.type)) {
      text.appendRight(child.start, `{${count()};`)
      text.prependLeft(child.end, '}')
    } else {
      text.appendRight(child.start, `(${count()},(`)
      text.prependLeft(child.end, '))')
    }
  }
  walk(parse(source, { sourceType: 'module' }).program as unknown as Node, (node) => {
    for (const field of branches[node.type] ?? []) {
      const child = node[field]
      if (isNode(child)) enter(child)
    }
    if (node.type === 'StringLiteral' && typeof node.value === 'string') {
      if (node.value.length > 1 && node.value.length <= 32) dictionary.add(node.value)
    }
  })
  text.prepend('const __counts = globalThis.__counts;\n')
  return { code: text.toString(), counters, dictionary: [...dictionary] }
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node)
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value])
      if (isNode(child)) walk(child, visit)
  }
}

function isNode(value: unknown): value is Node {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Node).type === 'string' &&
    'start' in value
  )
}
