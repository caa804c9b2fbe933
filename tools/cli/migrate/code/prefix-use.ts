// Where the word before the dot stands alone and may be a part of an event's name. The word means
// many other things too, so it counts where a text is looked into, or the file handles such parts.
import { completedSteps, legacyPrefix } from '../legacy.ts'
import { calledName } from './places.ts'
import { type Ancestors, cooked, nodeAt, nodesAt, type SyntaxNode, textOf, walk } from './syntax.ts'

const asking = /^(startsWith|indexOf|lastIndexOf|includes|search|match|replace|replaceAll|split)$/
const cutting = /^(split|slice|substring|substr|at|shift|pop|match|exec)$/
const telling = /prefix|famil|event|topic|namespace|scope|entit|legacy|channel|webhook/i
const named =
  /^(VariableDeclarator|ObjectProperty|ClassProperty|TSEnumMember|EnumStringMember|AssignmentPattern)$/
/** `server.on('request', …)` of node:http. */
const listening = /^(on|once|off|emit|addListener|removeListener|prependListener)$/

/**
 * Whether a file splits or joins names: a dot as a text of its own, or startsWith() with a value
 * known at run time only.
 */
export function splitsNames(root: SyntaxNode): boolean {
  let found = false
  walk(root, (node) => {
    if (found) return
    if (node.type === 'TemplateElement') found = cooked(node) === '.'
    else if (node.type === 'RegExpLiteral') found = /^(\\\.|\[\.\])$/.test(String(node.pattern))
    else if (isCall(node) && calledName(node) === 'startsWith') {
      const [asked] = nodesAt(node, 'arguments')
      found = asked !== undefined && textOf(asked) === undefined
    } else found = textOf(node) === '.'
  })
  return found
}

/** Whether this literal is the single word, in a place that may use a part of a name. */
export function isPrefixUse(node: SyntaxNode, ancestors: Ancestors, parts: boolean): boolean {
  if (textOf(node) !== legacyPrefix) return false
  const [parent, above] = [ancestors.at(-1), ancestors.at(-2)]
  if (!parent) return false
  if (isCall(parent) && nodeAt(parent, 'callee') !== node) {
    const name = calledName(parent)
    return asking.test(name) || (parts && !listening.test(name))
  }
  // 'request'.length
  if (parent.type.endsWith('MemberExpression') && parent.object === node) return true
  if (named.test(parent.type) && telling.test(nameOf(parent))) return true
  if (parts) return true
  if (parent.type === 'BinaryExpression' && /^[!=]==?$/.test(String(parent.operator))) {
    return isCut(nodeAt(parent, parent.left === node ? 'right' : 'left'))
  }
  return parent.type === 'SwitchCase' && isCut(nodeAt(above, 'discriminant'))
}

/** `{ request: { approved: handle } }`: a name in two keys. */
export function isNestedName(node: SyntaxNode): boolean {
  if (node.type !== 'ObjectProperty' || keyOf(node) !== legacyPrefix) return false
  const inside = nodesAt(nodeAt(node, 'value'), 'properties').map(keyOf)
  return completedSteps(inside)
}

function keyOf(property: SyntaxNode): string {
  const key = nodeAt(property, 'key')
  return property.computed ? '' : String(key?.name ?? key?.value ?? '')
}

function isCall({ type }: SyntaxNode): boolean {
  return /^(Optional)?CallExpression$/.test(type)
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
