// Texts that are assembled at run time (sums, templates, join, concat), as known pieces and gaps.
import { isReplacement, replacementOf } from '../legacy.ts'
import { calledName } from './places.ts'
import { type Ancestors, cooked, nodeAt, nodesAt, type SyntaxNode, textOf, walk } from './syntax.ts'

/** Known text, or undefined for what is known at run time only. */
export type Pieces = readonly (string | undefined)[]

/** The texts of the constants of a file, by name. */
export type Constants = ReadonlyMap<string, string>

/** The constants of a file that are plain text; names declared twice are left out. */
export function constantsOf(root: SyntaxNode): Constants {
  const found = new Map<string, string | undefined>()
  walk(root, (node, ancestors) => {
    if (node.type !== 'VariableDeclarator') return
    const name = nodeAt(node, 'id')?.name
    if (typeof name !== 'string') return
    const value = nodeAt(node, 'init')
    const plain = value?.type.endsWith('AsExpression') ? nodeAt(value, 'expression') : value
    const fixed = ancestors.at(-1)?.kind === 'const' && plain ? textOf(plain) : undefined
    found.set(name, found.has(name) ? undefined : fixed)
  })
  return new Map([...found].flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])))
}

/** How a node assembles a text; undefined if it does not. */
export function assembly(node: SyntaxNode): 'sum' | 'template' | 'join' | 'concat' | undefined {
  if (isSum(node)) return 'sum'
  if (node.type === 'TemplateLiteral' || node.type === 'TSTemplateLiteralType') {
    return nodesAt(node, 'quasis').length > 1 ? 'template' : undefined
  }
  if (!/^(Optional)?CallExpression$/.test(node.type)) return undefined
  const target = nodeAt(nodeAt(node, 'callee'), 'object')
  const isList = target?.type === 'ArrayExpression'
  const name = calledName(node)
  if (name === 'concat') return target && !isList ? 'concat' : undefined
  // Whole names in a list are names, not pieces.
  const whole = isList && nodesAt(target, 'elements').some((one) => isName(textOf(one)))
  return name === 'join' && isList && !whole ? 'join' : undefined
}

/** Whether a node is only a piece of a text. */
export function isPiece(node: SyntaxNode, ancestors: Ancestors): boolean {
  const above = ancestors.filter(({ type }) => type !== 'ParenthesizedExpression')
  const [parent, second, third] = [above.at(-1), above.at(-2), above.at(-3)]
  if (!parent) return false
  const way = assembly(parent)
  if (way === 'sum') return true
  if (way === 'template') return assembly(node) !== undefined
  if (way === 'concat') return nodesAt(parent, 'arguments').includes(node)
  const call = parent.type === 'ArrayExpression' ? third : second
  const callee = parent.type === 'ArrayExpression' ? second : parent
  if (!call || nodeAt(call, 'callee') !== callee) return false
  const inCall = assembly(call)
  return inCall === 'join' ? parent.type === 'ArrayExpression' : inCall === 'concat'
}

/** The pieces of a text, adjacent known ones not merged. */
export function piecesOf(node: SyntaxNode, constants: Constants): Pieces {
  const inner = (one: SyntaxNode | undefined) => (one ? piecesOf(one, constants) : [undefined])
  switch (assembly(node)) {
    case 'sum':
      return [...inner(nodeAt(node, 'left')), ...inner(nodeAt(node, 'right'))]
    case 'template':
      return templatePieces(node, inner)
    case 'concat': {
      const target = nodeAt(nodeAt(node, 'callee'), 'object')
      return [...inner(target), ...nodesAt(node, 'arguments').flatMap(inner)]
    }
    case 'join':
      return joinPieces(node, inner)
    case undefined:
      return [textOf(node) ?? constants.get(String(node.name))]
  }
}

type Inner = (node: SyntaxNode | undefined) => Pieces

function templatePieces(node: SyntaxNode, inner: Inner): Pieces {
  const holes = nodesAt(node, 'expressions')
  return nodesAt(node, 'quasis').flatMap((quasi, at) => {
    const text = cooked(quasi) ?? ''
    const hole = holes[at - 1]
    // A whole name in a hole is renamed there.
    const filled = hole && isName(textOf(hole)) ? [undefined] : inner(hole)
    return at === 0 ? [text] : [...filled, text]
  })
}

function joinPieces(call: SyntaxNode, inner: Inner): Pieces {
  const list = nodeAt(nodeAt(call, 'callee'), 'object')
  const [separator] = nodesAt(call, 'arguments')
  const between = separator ? inner(separator) : [',']
  return nodesAt(list, 'elements').flatMap((one, at) =>
    at === 0 ? inner(one) : [...between, ...inner(one)],
  )
}

/** Adjacent texts merged into one. */
export function merged(pieces: Pieces): Pieces {
  const together: (string | undefined)[] = []
  for (const piece of pieces) {
    const last = together.at(-1)
    if (piece !== undefined && last !== undefined) together[together.length - 1] = last + piece
    else together.push(piece)
  }
  return together
}

function isSum(node: SyntaxNode): boolean {
  if (node.type === 'AssignmentExpression') return node.operator === '+='
  return node.type === 'BinaryExpression' && node.operator === '+'
}

function isName(text: string | undefined): boolean {
  return text !== undefined && (replacementOf(text) !== undefined || isReplacement(text))
}
