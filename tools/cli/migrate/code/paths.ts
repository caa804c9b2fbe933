// The rule for API paths: `/requests` becomes `/verifications` if the address is known to be the
// service's, and is reported if it may be the app's own.
import { assembly, type Constants } from './pieces.ts'
import { calledName, isModuleName } from './places.ts'
import { type Ancestors, cooked, nodeAt, nodesAt, type SyntaxNode, textOf } from './syntax.ts'

/** How paths are recognized. */
export interface PathOptions {
  /** Prefixes of the service's addresses before the path; always includes `/v2/api`. */
  readonly bases: readonly string[]
}

/** The options with the constants of the file. */
export interface PathContext extends PathOptions {
  readonly constants: Constants
}

/** A legacy path: rewritten if it has `to`, else reported. */
export interface PathUse {
  readonly node: SyntaxNode
  readonly from: string
  readonly to?: string
  readonly suggestion: string
}

export const defaultBases: readonly string[] = ['/v2/api']

const suggestion =
  'if this is a path of the service, it is /verifications now: change it, or pass its base with --base'
const piece = 'if this becomes a path of the service, it is verifications now: change it manually'
const pattern = 'if this matches paths of the service, they are /verifications now: match both'

type RewrittenPath = PathUse & { readonly to: string }

/** A segment of a path: not in 'too many requests' or '/requests-log'. */
const segment = /\/requests(?=$|[/?#])/
const relative = /^requests(?=[/?#])/

/** The legacy path in a node; undefined without one. */
export function pathUse(
  node: SyntaxNode,
  ancestors: Ancestors,
  { bases, constants }: PathContext,
): RewrittenPath | (PathUse & { readonly to?: undefined }) | undefined {
  if (node.type === 'RegExpLiteral') return patternUse(node)
  const text = node.type === 'TemplateElement' ? cooked(node) : literalText(node, ancestors)
  if (!text?.includes('requests')) return undefined
  const before = constantBefore(node, ancestors, constants)
  const to = renamedAfter(before, text, bases)
  if (to !== text) return { node, from: text, to, suggestion }
  // A bare path, or one of another host, may be the app's own.
  if (segment.test(text)) return { node, from: text, suggestion }
  const isStep = relative.test(text) || (text === 'requests' && makesPath(node, ancestors))
  return isStep ? { node, from: text, suggestion: piece } : undefined
}

/** The text with its path renamed, if that and the text before it contain a base. */
function renamedAfter(before: string, text: string, bases: readonly string[]): string {
  const whole = before + text
  // An address with a host belongs to the service only if a base has that host.
  const fitting = /^[a-z][a-z0-9+.-]*:\/\//i.test(whole) ? bases.filter(namesHost) : bases
  const renamed = fitting.reduce((path, base) => path.replace(after(base), '/verifications'), whole)
  return renamed.startsWith(before) ? renamed.slice(before.length) : text
}

/** The constant before a piece of a template or sum: of `${base}/requests` the text of `base`. */
function constantBefore(node: SyntaxNode, ancestors: Ancestors, constants: Constants): string {
  const parent = ancestors.at(-1)
  if (!parent) return ''
  const at = nodesAt(parent, 'quasis').indexOf(node)
  const isRight = parent.type === 'BinaryExpression' && parent.right === node
  const other = isRight ? nodeAt(parent, 'left') : nodesAt(parent, 'expressions')[at - 1]
  return constants.get(String(other?.name)) ?? ''
}

function namesHost(base: string): boolean {
  return /^(?:[a-z][a-z0-9+.-]*:)?\/\/|^[\w-]+(?:\.[\w-]+)+/i.test(base)
}

function literalText(node: SyntaxNode, ancestors: Ancestors): string | undefined {
  if (node.type !== 'StringLiteral' || isModuleName(node, ancestors)) return undefined
  return textOf(node)
}

function after(base: string): RegExp {
  const literal = base.replace(/\/$/, '').replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`(?<=${literal})/requests(?=$|[/?#])`, 'g')
}

/** A pattern that knows both families, or has the word in a sentence, is not reported. */
function patternUse(node: SyntaxNode): (PathUse & { readonly to?: undefined }) | undefined {
  const source = String(node.pattern)
  const isPath = /(?<![\w\s-])requests(?![\w\s-])/.test(source)
  if (!isPath || source.includes('verifications')) return undefined
  return { node, from: source, suggestion: pattern }
}

const keyed = /^(Object|Class|TS)\w*(Property|Method|PropertySignature)$/
const requesting =
  /^(get|post|put|patch|delete|del|head|fetch|request|resource|path|url|join|URL|RegExp|startsWith|includes|indexOf)$/

/** Whether the single word may be a segment of a path. */
function makesPath(node: SyntaxNode, ancestors: Ancestors): boolean {
  const parent = ancestors.at(-1)
  if (!parent) return false
  // The text of a template without holes counts as the template.
  if (node.type === 'TemplateElement' && assembly(parent) === undefined) {
    return makesPath(parent, ancestors.slice(0, -1))
  }
  if (keyed.test(parent.type) && parent.key === node) return false
  if (!nodesAt(parent, 'arguments').includes(node)) return true
  return assembly(parent) !== undefined || requesting.test(calledName(parent))
}
