// Rewrites one file: exact legacy names in literals only, every other byte unchanged.
import MagicString from 'magic-string'
import { isReplacement, mayHoldLegacy, replacementOf } from '../legacy.ts'
import { type Dynamic, dynamicUse, surroundingsOf } from './dynamic.ts'
import type { Edit, Finding, Position } from './finding.ts'
import { type Ignored, ignoredLines } from './ignore-comments.ts'
import { mentionsIn } from './mentions.ts'
import { isOwnReceiver } from './own-receiver.ts'
import { type PathOptions, pathUse } from './paths.ts'
import { isPiece } from './pieces.ts'
import { isModuleName, type Place, placeOf } from './places.ts'
import { isReceivedName } from './received-names.ts'
import {
  type Ancestors,
  codeOf,
  isComponent,
  kindOf,
  markupOf,
  parseJsonPlaces,
  parseSource,
  type Syntax,
  type SyntaxNode,
  textOf,
  walk,
} from './syntax.ts'

/** The result for a file. */
export interface RewrittenSource {
  readonly output: string
  readonly edits: readonly Edit[]
  readonly findings: readonly Finding[]
}

interface Occurrence {
  readonly node: SyntaxNode
  readonly text: string
  readonly place: Place | undefined
}

/**
 * Rewrites the legacy names of a file.
 *
 * @throws SyntaxError when the file cannot be parsed
 */
export function rewriteSource(text: string, file: string, paths?: PathOptions): RewrittenSource {
  const unchanged = { output: text, edits: [], findings: [] }
  if (!mayHoldLegacy(text)) return unchanged
  const kind = kindOf(file)
  const syntax = kind === 'text' ? undefined : parseNamed(text, file)
  if (!syntax) return kind === 'code' ? unchanged : { ...unchanged, findings: mentionsIn(text) }
  const { root, comments } = syntax
  const ignored = ignoredLines(text, comments)
  if (ignored.all) return unchanged
  if (kind === 'code' && isOwnReceiver(text, syntax)) {
    return { ...unchanged, findings: receiverFindings(root, createSource(text, ignored)) }
  }
  const seen = collect(root, paths)
  const source = createSource(text, ignored)
  // Ignored names stay, so they collide with nothing.
  const collisions = collisionsOf(
    seen.names.filter(({ node, text: name }) => isReplacement(name) || !source.isIgnored(node)),
  )
  const edits = [
    ...seen.names.flatMap(({ node, text: from }) => {
      const to = collisions.has(from) ? undefined : replacementOf(from)
      return to === undefined ? [] : source.replace(node, { from, to })
    }),
    ...seen.paths.flatMap((use) => (use.to === undefined ? [] : source.replace(use.node, use))),
  ]
  const findings = [
    ...seen.dynamic.flatMap(({ kind, node, suggestion }) => source.find(node, kind, suggestion)),
    ...seen.paths.flatMap((use) =>
      use.to === undefined ? source.find(use.node, 'path', use.suggestion) : [],
    ),
    ...seen.received.flatMap((node) => source.find(node, 'received', receivedAdvice)),
    ...(isComponent(file) ? mentionsIn(markupOf(text)) : []),
    ...[...collisions].flatMap(([from, { first, meets, others }]) =>
      source.find(
        first,
        'collision',
        collisionAdvice(from, { meets: source.line(meets), others: others.map(source.line) }),
      ),
    ),
  ]
  const inOrder = (a: Position, b: Position) => a.line - b.line || a.column - b.column
  return { output: source.output(), edits: edits.sort(inOrder), findings: findings.sort(inOrder) }
}

/** A broken file is an error only if it contains the word; broken or signed JSON is text. */
function parseNamed(text: string, file: string): Syntax | undefined {
  if (kindOf(file) === 'json') return parseFixture(text)
  try {
    return parseSource(isComponent(file) ? codeOf(text) : text, file)
  } catch (error) {
    if (/request/i.test(text)) throw error
    return undefined
  }
}

/** A new name would break the signature that a fixture contains. */
function parseFixture(text: string): Syntax | undefined {
  if (/signature[^"]{0,100}"\s*:/i.test(text)) return undefined
  try {
    return { root: parseJsonPlaces(text), comments: [] }
  } catch {
    return undefined
  }
}

/** Every legacy name of a file that reads deliveries without this package. */
function receiverFindings(root: SyntaxNode, source: ReturnType<typeof createSource>): Finding[] {
  const found: Finding[] = []
  walk(root, (node, ancestors) => {
    const text = nameAt(node, ancestors)
    if (text === undefined || replacementOf(text) === undefined) return
    found.push(...source.find(node, 'receiver', receiverAdvice))
  })
  return found
}

function collect(root: SyntaxNode, paths: PathOptions | undefined) {
  const names: Occurrence[] = []
  const dynamic: Dynamic[] = []
  const received: SyntaxNode[] = []
  const pathUses: NonNullable<ReturnType<typeof pathUse>>[] = []
  const around = surroundingsOf(root)
  walk(root, (node, ancestors) => {
    const path = paths && pathUse(node, ancestors, { ...paths, constants: around.constants })
    if (path) pathUses.push(path)
    const use = dynamicUse(node, ancestors, around)
    if (use) dynamic.push(use)
    const text = use ? undefined : nameAt(node, ancestors)
    if (text === undefined) return
    const isMeant = replacementOf(text) !== undefined && isReceivedName(node, ancestors)
    if (isMeant) received.push(node)
    else names.push({ node, text, place: placeOf(node, ancestors) })
  })
  return { names, dynamic, received, paths: pathUses }
}

/** A legacy or current name that is a literal of its own. */
function nameAt(node: SyntaxNode, ancestors: Ancestors): string | undefined {
  const text = textOf(node)
  if (text === undefined || isModuleName(node, ancestors) || isPiece(node, ancestors))
    return undefined
  if (ancestors.at(-1)?.type === 'TaggedTemplateExpression') return undefined
  return replacementOf(text) !== undefined || isReplacement(text) ? text : undefined
}

/** Where a legacy name would collide with its replacement, and its other occurrences. */
interface Collision {
  readonly first: SyntaxNode
  readonly meets: SyntaxNode
  readonly others: readonly SyntaxNode[]
}

/** Legacy names whose replacement already exists in the same place. */
function collisionsOf(names: readonly Occurrence[]): ReadonlyMap<string, Collision> {
  const collisions = new Map<string, Collision>()
  const byText = Map.groupBy(names, ({ text }) => text)
  for (const { node, text, place } of names) {
    const to = replacementOf(text)
    if (to === undefined || collisions.has(text)) continue
    const met = byText
      .get(to)
      ?.find(
        (other) =>
          place !== undefined &&
          other.place?.kind === place.kind &&
          other.place.scope === place.scope,
      )
    if (!met) continue
    const others = (byText.get(text) ?? []).filter((one) => one.node !== node)
    collisions.set(text, { first: node, meets: met.node, others: others.map((one) => one.node) })
  }
  return collisions
}

interface Meeting {
  readonly meets: number
  /** The lines of its other occurrences, also unchanged. */
  readonly others: readonly number[]
}

function collisionAdvice(from: string, { meets, others }: Meeting): string {
  const lines = [...new Set(others)]
  const left =
    lines.length > 0
      ? `; its occurrence${lines.length > 1 ? 's' : ''} in line${lines.length > 1 ? 's' : ''} ${lines.join(', ')} also stay${lines.length > 1 ? '' : 's'} unchanged`
      : ''
  return `${replacementOf(from)} exists in line ${meets}, so renaming ${from} would duplicate it: remove one of them, or mark the one to keep with idv-webhooks-ignore${left}`
}

const receiverAdvice =
  'this file verifies deliveries itself: after a rename it would miss events that arrive under the legacy name; switch to createReceiver() first, or compare canonicalName(name) of idv-webhooks/protocol'

const receivedAdvice =
  'beside receivedName, canonicalName or legacyNames the legacy name is right while deliveries arrive under it: keep it until then, and mark it with idv-webhooks-ignore'

/** The text with its edits; ignored lines are unchanged. */
function createSource(text: string, ignored: Ignored) {
  const edited = new MagicString(text)
  const starts = lineStarts(text)
  const position = (node: SyntaxNode): Position => {
    const line = lineOf(starts, node.start)
    return { line, column: node.start - (starts[line - 1] ?? 0) + 1 }
  }
  return {
    output: () => edited.toString(),
    line: (node: SyntaxNode) => position(node).line,
    isIgnored: (node: SyntaxNode) => ignored.lines.has(position(node).line),
    replace(
      node: SyntaxNode,
      { from, to }: { readonly from: string; readonly to: string },
    ): Edit[] {
      const at = position(node)
      if (ignored.lines.has(at.line)) return []
      // Only the text between the quotes.
      const inside = node.type === 'TemplateElement' ? 0 : 1
      edited.update(node.start + inside, node.end - inside, to)
      return [{ ...at, from, to }]
    },
    find(node: SyntaxNode, kind: Finding['kind'], suggestion: string): Finding[] {
      const at = position(node)
      if (ignored.lines.has(at.line)) return []
      const snippet = text.slice(node.start, node.end).replaceAll(/\s+/g, ' ')
      const short = snippet.length > 80 ? `${snippet.slice(0, 79)}…` : snippet
      return [{ ...at, kind, text: short, suggestion }]
    },
  }
}

/** The line of an offset, from 1: the last that starts at or before it. */
function lineOf(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

function lineStarts(text: string): readonly number[] {
  return [
    0,
    ...Array.from(text.matchAll(/\r\n|[\n\r\u2028\u2029]/g), (end) => end.index + end[0].length),
  ]
}
