// Renames the event of a body in the JSON text itself, so that every other byte is unchanged.
import { nodeAt, nodesAt, parseJsonPlaces, type SyntaxNode, textOf } from './code/syntax.ts'
import { replacementOf } from './legacy.ts'

/** A body with the current name. */
export interface RenamedEvent {
  readonly body: Uint8Array
  readonly from: string
  readonly to: string
}

/** Renames the event of a body; undefined if it has no legacy name at these paths. */
export function renameEvent(
  body: Uint8Array,
  namePaths: readonly string[],
): RenamedEvent | undefined {
  const text = decode(body)
  const node = text === undefined ? undefined : nameNode(text, namePaths)
  const from = node && textOf(node)
  const to = from === undefined ? undefined : replacementOf(from)
  if (text === undefined || !node || from === undefined || to === undefined) return undefined
  const renamed = text.slice(0, node.start + 1) + to + text.slice(node.end - 1)
  return { body: new TextEncoder().encode(renamed), from, to }
}

/** The first path with a value other than null is the name, as in the receiver. */
function nameNode(text: string, paths: readonly string[]): SyntaxNode | undefined {
  let root: SyntaxNode
  try {
    root = parseJsonPlaces(text)
  } catch {
    return undefined
  }
  for (const path of paths) {
    const found = path
      .split('.')
      .reduce<SyntaxNode | undefined>((node, key) => node && member(node, key), root)
    if (found && found.type !== 'NullLiteral') return found
  }
  return undefined
}

/** The last of repeated keys counts, as in JSON.parse. */
function member(node: SyntaxNode, key: string): SyntaxNode | undefined {
  const property = nodesAt(node, 'properties').findLast((one) => {
    const name = nodeAt(one, 'key')
    return name !== undefined && textOf(name) === key
  })
  return nodeAt(property, 'value')
}

function decode(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    return undefined
  }
}
