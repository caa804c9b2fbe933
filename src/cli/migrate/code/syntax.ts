// Source text to a tree that can be walked, whatever dialect it is written in.
import { type ParserOptions, parse, parseExpression } from '@babel/parser'

/** A node of any kind: where it stands, and fields that depend on its type. */
export interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

export interface SyntaxComment {
  readonly value: string
  readonly start: number
  readonly end: number
}

/** A parsed file. */
export interface Syntax {
  readonly root: SyntaxNode
  readonly comments: readonly SyntaxComment[]
}

/** A node with those above it, the nearest last. */
export type Ancestors = readonly SyntaxNode[]

type Plugins = NonNullable<ParserOptions['plugins']>

const common: Plugins = ['decoratorAutoAccessors', 'throwExpressions']
const typed: readonly Plugins[] = [
  ['typescript', 'decorators-legacy'],
  ['typescript', 'decorators'],
]
const dialects: readonly (readonly [ends: RegExp, plugins: readonly Plugins[]])[] = [
  [/\.d\.[mc]?ts$/, [[['typescript', { dts: true }]]]],
  [/\.[mc]?ts$/, typed],
  [/\.tsx$/, typed.map((plugins) => ['jsx', ...plugins])],
  [
    /\.[mc]?jsx?$/,
    [
      ['jsx', 'decorators'],
      ['jsx', 'flow', 'decorators'],
      ['jsx', ...(typed[0] ?? [])],
    ],
  ],
]

/** Whether files of this name can be read. */
export function isSource(file: string): boolean {
  return dialects.some(([ends]) => ends.test(file))
}

/**
 * Parses a file by the dialect of its name.
 *
 * @throws SyntaxError with the place, when it is none of that dialect
 */
export function parseSource(text: string, file: string): Syntax {
  const plugins = dialects.find(([ends]) => ends.test(file))?.[1] ?? []
  let failure: unknown
  // Names that are declared twice and the like are no concern of ours: that is the second round.
  for (const errorRecovery of [false, true]) {
    for (const dialect of plugins) {
      try {
        return parseDialect(text, { errorRecovery, plugins: [...common, ...dialect] })
      } catch (error) {
        failure ??= error
      }
    }
  }
  throw failure
}

function parseDialect(text: string, options: ParserOptions): Syntax {
  const { program, comments } = parse(text, {
    sourceType: 'unambiguous',
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
    allowNewTargetOutsideFunction: true,
    allowSuperOutsideMethod: true,
    allowUndeclaredExports: true,
    ...options,
  })
  // Babel's own node types know every field; the walk needs only those that all have.
  return {
    root: program as unknown as SyntaxNode,
    comments: (comments ?? []) as unknown as readonly SyntaxComment[],
  }
}

/**
 * Parses JSON text, so that the place of every value in it is known.
 *
 * @throws SyntaxError
 */
export function parseJsonPlaces(text: string): SyntaxNode {
  JSON.parse(text.replace(/^\uFEFF/, ''))
  // JSON is an expression; only a key twice is an error that JSON does not know.
  return parseExpression(text, { errorRecovery: true }) as unknown as SyntaxNode
}

const asides = new Set(['loc', 'extra', 'leadingComments', 'trailingComments', 'innerComments'])

/** Calls back for every node, parents first, in the order of the text. */
export function walk(
  node: SyntaxNode,
  visit: (node: SyntaxNode, ancestors: Ancestors) => void,
  ancestors: Ancestors = [],
): void {
  visit(node, ancestors)
  const inside = [...ancestors, node]
  const children = Object.entries(node)
    .filter(([field]) => !asides.has(field))
    .flatMap(([, value]) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter(isNode)
  for (const child of children) walk(child, visit, inside)
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

/** A field of a node that is a node. */
export function nodeAt(node: SyntaxNode | undefined, field: string): SyntaxNode | undefined {
  const value = node?.[field]
  return isNode(value) ? value : undefined
}

/** A field of a node that is a list; holes of arrays are left out. */
export function nodesAt(node: SyntaxNode | undefined, field: string): readonly SyntaxNode[] {
  const value = node?.[field]
  return Array.isArray(value) ? (value as unknown[]).filter(isNode) : []
}

/** The text that a node stands for: a string, or a template without holes. */
export function textOf(node: SyntaxNode): string | undefined {
  if (/^StringLiteral(TypeAnnotation)?$/.test(node.type)) return String(node.value)
  if (node.type !== 'TemplateLiteral' && node.type !== 'TSTemplateLiteralType') return undefined
  const quasis = nodesAt(node, 'quasis')
  return quasis.length === 1 ? cooked(quasis[0]) : undefined
}

/** A template's text between its holes; undefined where an escape makes none. */
export function cooked(quasi: SyntaxNode | undefined): string | undefined {
  const value = quasi?.value as { readonly cooked?: string | null } | undefined
  return value?.cooked ?? undefined
}
