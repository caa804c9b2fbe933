// Where the word before the dot stands alone and is asked of an event's name. The word means many
// other things too, so only uses that look at a part of a text count.
import { legacyPrefix } from '../legacy.ts'
import { calledName } from './places.ts'
import { type Ancestors, nodeAt, nodesAt, type SyntaxNode, textOf, walk } from './syntax.ts'

const asking = /^(startsWith|indexOf|lastIndexOf|includes|search|match|replace|replaceAll|split)$/
const cutting = /^(split|slice|substring|substr|at|shift|pop|match|exec)$/
const telling = /prefix|famil|event|topic|namespace|scope|entit|legacy|channel|webhook/i
const named =
  /^(VariableDeclarator|ObjectProperty|ClassProperty|TSEnumMember|EnumStringMember|AssignmentPattern)$/

/** Whether a file cuts texts at a dot: what it compares then may be the part before it. */
export function cutsAtDot(root: SyntaxNode): boolean {
  let cuts = false
  walk(root, (node) => {
    if (cuts || !isCall(node) || !/^(split|indexOf)$/.test(calledName(node))) return
    const [at] = nodesAt(node, 'arguments')
    cuts = at !== undefined && (textOf(at) === '.' || /^\\\.|^\[\.\]/.test(String(at.pattern)))
  })
  return cuts
}

/** Whether this literal is the word alone, in a place that looks at a part of a name. */
export function isPrefixUse(node: SyntaxNode, ancestors: Ancestors, cuts: boolean): boolean {
  if (textOf(node) !== legacyPrefix) return false
  const [parent, above] = [ancestors.at(-1), ancestors.at(-2)]
  if (!parent) return false
  if (isCall(parent) && nodesAt(parent, 'arguments')[0] === node) {
    return asking.test(calledName(parent)) && nodeAt(parent, 'callee')?.type !== 'Identifier'
  }
  if (named.test(parent.type) && telling.test(nameOf(parent))) return true
  const compares = parent.type === 'BinaryExpression' && /^[!=]==?$/.test(String(parent.operator))
  if (compares) return cuts || isCut(nodeAt(parent, parent.left === node ? 'right' : 'left'))
  if (parent.type === 'SwitchCase') return cuts || isCut(nodeAt(above, 'discriminant'))
  return cuts && (parent.type === 'ArrayExpression' || isKey(parent, node))
}

function isCall({ type }: SyntaxNode): boolean {
  return /^(Optional)?CallExpression$/.test(type)
}

function isKey(parent: SyntaxNode, node: SyntaxNode): boolean {
  return parent.type === 'ObjectProperty' && parent.key === node
}

function nameOf(parent: SyntaxNode): string {
  const name = nodeAt(parent, 'id') ?? nodeAt(parent, 'key') ?? nodeAt(parent, 'left')
  return String(name?.name ?? name?.value ?? '')
}

/** `name.split('.')[0]`, `name.slice(0, 7)` and the like. */
function isCut(node: SyntaxNode | undefined): boolean {
  if (!node) return false
  if (isCall(node)) return cutting.test(calledName(node)) || isCut(nodeAt(node, 'callee'))
  return node.type.endsWith('MemberExpression') && isCut(nodeAt(node, 'object'))
}
