// Legacy names that are intentional: beside `receivedName` and the like, the old name is right while
// deliveries arrive under it.
import { type Ancestors, isNode, nodeAt, type SyntaxNode, textOf } from './syntax.ts'

const telling = new Set(['receivedName', 'canonicalName', 'legacyNames'])
const boundary = /Statement$|Function|Method$|^(Class|Program|Logical|JSX)/
const keyed = /^(ObjectProperty|ClassProperty|TSPropertySignature|ObjectTypeProperty)$/

/**
 * Whether a literal is compared with, handed to or asserted of `receivedName`, `canonicalName` or
 * `legacyNames`.
 */
export function isReceivedName(node: SyntaxNode, ancestors: Ancestors): boolean {
  let below = node
  for (const above of [...ancestors].reverse()) {
    if (above.type === 'SwitchCase') {
      below = above
      continue
    }
    if (above.type === 'SwitchStatement') {
      return below.type === 'SwitchCase' && mentions(nodeAt(above, 'discriminant'))
    }
    // A value is described by its own key only.
    if (keyed.test(above.type)) return above.key !== below && names(nodeAt(above, 'key'))
    if (boundary.test(above.type)) return false
    if (childrenOf(above).some((child) => child !== below && mentions(child))) return true
    below = above
  }
  return false
}

/** Whether a node contains one of those names, not counting functions. */
function mentions(node: SyntaxNode | undefined): boolean {
  if (!node || /Function/.test(node.type)) return false
  if (names(node)) return true
  if (keyed.test(node.type)) return names(nodeAt(node, 'key'))
  return childrenOf(node).some(mentions)
}

function names(node: SyntaxNode | undefined): boolean {
  return node !== undefined && telling.has(String(node.name ?? textOf(node) ?? ''))
}

function childrenOf(node: SyntaxNode): readonly SyntaxNode[] {
  return Object.entries(node)
    .filter(([field]) => !/Comments$|^(loc|extra)$/.test(field))
    .flatMap(([, value]) => (Array.isArray(value) ? (value as unknown[]) : [value]))
    .filter(isNode)
}
