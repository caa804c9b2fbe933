// Parses source text of every dialect into a tree that can be walked.
import { type ParserOptions, parse, parseExpression } from '@babel/parser'

/** A node of any type: its position, and fields that depend on its type. */
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
  [/\.(vue|svelte|astro)$/, [...typed, ['jsx', 'flow', 'decorators']]],
  [
    /\.[mc]?jsx?$/,
    [
      ['jsx', 'decorators'],
      ['jsx', 'flow', 'decorators'],
      ['jsx', ...(typed[0] ?? [])],
    ],
  ],
]

const components = /\.(vue|svelte|astro)$/
const scriptEnd = '</script>'

/** How a file is migrated: renamed as code or as JSON, or only searched for names. */
export type FileKind = 'code' | 'json' | 'text'

export function kindOf(file: string): FileKind {
  if (dialects.some(([ends]) => ends.test(file))) return 'code'
  return file.endsWith('.json') ? 'json' : 'text'
}

/** Whether a file has markup around its code. */
export function isComponent(file: string): boolean {
  return components.test(file)
}

/** A component with its markup replaced by spaces, so that its code keeps its positions. */
export function codeOf(text: string): string {
  let end = 0
  let code = ''
  for (const { index, 0: match, 1: mark = '' } of blocksOf(text)) {
    code += blank(text.slice(end, index) + mark) + match.slice(mark.length)
    end = index + match.length
  }
  return code + blank(text.slice(end))
}

/** A component with its code replaced by spaces. */
export function markupOf(text: string): string {
  let end = 0
  let markup = ''
  for (const { index, 0: match } of blocksOf(text)) {
    markup += text.slice(end, index) + blank(match)
    end = index + match.length
  }
  return markup + text.slice(end)
}

/** Frontmatter of an Astro file, and script blocks, without what ends them; first the opening mark. */
function blocksOf(text: string): RegExpExecArray[] {
  const front = /^(---\r?\n)[\s\S]*?(?=\n---)/.exec(text)
  // Each opening of a script that has no end would be looked for up to the end of the text.
  const closed = text.slice(0, text.lastIndexOf(scriptEnd) + scriptEnd.length)
  const scripts = /(<script\b[^>]*>)[\s\S]*?(?=<\/script>)/g
  scripts.lastIndex = front?.[0].length ?? 0
  return [...(front ? [front] : []), ...closed.matchAll(scripts)]
}

const blank = (text: string) => text.replaceAll(/[^\r\n\u2028\u2029]/g, ' ')

/**
 * Parses a file by the dialect of its name.
 *
 * @throws SyntaxError with the position
 */
export function parseSource(text: string, file: string): Syntax {
  const plugins = dialects.find(([ends]) => ends.test(file))?.[1] ?? []
  let failure: unknown
  // The second round accepts errors such as names that are declared twice.
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
  // The walk needs only the fields that all node types of Babel have.
  return {
    root: program as unknown as SyntaxNode,
    comments: (comments ?? []) as unknown as readonly SyntaxComment[],
  }
}

/**
 * Parses JSON text into a tree with the position of every value.
 *
 * @throws SyntaxError
 */
export function parseJsonPlaces(text: string): SyntaxNode {
  JSON.parse(text.replace(/^\uFEFF/, ''))
  // JSON is an expression; only repeated keys are an error of the parser and not of JSON.
  return parseExpression(text, { errorRecovery: true }) as unknown as SyntaxNode
}

const asides = new Set(['loc', 'extra', 'leadingComments', 'trailingComments', 'innerComments'])

/** Calls `visit` for every node, parents first, in source order. */
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

/** A field of a node that is a list, without the holes of arrays. */
export function nodesAt(node: SyntaxNode | undefined, field: string): readonly SyntaxNode[] {
  const value = node?.[field]
  return Array.isArray(value) ? (value as unknown[]).filter(isNode) : []
}

/** The text of a node: a string, or a template without holes. */
export function textOf(node: SyntaxNode): string | undefined {
  if (/^StringLiteral(TypeAnnotation)?$/.test(node.type)) return String(node.value)
  if (node.type !== 'TemplateLiteral' && node.type !== 'TSTemplateLiteralType') return undefined
  const quasis = nodesAt(node, 'quasis')
  return quasis.length === 1 ? cooked(quasis[0]) : undefined
}

/** The text of a template between its holes; undefined for an invalid escape. */
export function cooked(quasi: SyntaxNode | undefined): string | undefined {
  const value = quasi?.value as { readonly cooked?: string | null } | undefined
  return value?.cooked ?? undefined
}
