// The rule for API paths, apart from that for event names: `/requests` is `/verifications` where
// the address is known to be the service's, and reported where it may be the app's own.
import { isModuleName } from './places.ts'
import { type Ancestors, cooked, type SyntaxNode, textOf } from './syntax.ts'

/** How paths are recognised. */
export interface PathOptions {
  /** What the service's addresses contain before the path; `/v2/api` by default. */
  readonly bases: readonly string[]
}

/** A path of the older family: rewritten where `to` is there, else reported. */
export interface PathUse {
  readonly node: SyntaxNode
  readonly from: string
  readonly to?: string
  readonly suggestion: string
}

export const defaultBases: readonly string[] = ['/v2/api']

const suggestion =
  'if this is a path of the service, it is /verifications now; give its base with --base to have it rewritten'

type Rewritten = PathUse & { readonly to: string }

/** What a text says of the older paths; undefined when nothing. */
export function pathUse(
  node: SyntaxNode,
  ancestors: Ancestors,
  { bases }: PathOptions,
): Rewritten | (PathUse & { readonly to?: undefined }) | undefined {
  const text = node.type === 'TemplateElement' ? cooked(node) : literalText(node, ancestors)
  if (!text?.includes('/requests')) return undefined
  const to = bases.reduce((path, base) => path.replace(after(base), '/verifications'), text)
  if (to !== text) return { node, from: text, to, suggestion }
  // A bare path, or one after a hole of a template, may be the app's own.
  if (!/^\/requests(?=$|[/?#])/.test(text)) return undefined
  return { node, from: text, suggestion }
}

function literalText(node: SyntaxNode, ancestors: Ancestors): string | undefined {
  if (node.type !== 'StringLiteral' || isModuleName(node, ancestors)) return undefined
  return textOf(node)
}

function after(base: string): RegExp {
  const literal = base.replace(/\/$/, '').replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`(?<=${literal})/requests(?=$|[/?#])`, 'g')
}
