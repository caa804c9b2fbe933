// Where a text stands in the tree: what may be rewritten, what names a module, what registers a
// handler, and within which bounds two registrations meet.
import { type Ancestors, nodeAt, nodesAt, type SyntaxNode } from './syntax.ts'

/** What a text does where it stands; two of one kind in one scope would collide. */
export interface Place {
  readonly kind: 'key' | 'case' | 'call' | 'element' | 'comparison'
  /** The node within which the names must differ. */
  readonly scope: SyntaxNode
}

const registering =
  /^(on|once|off|addListener|addEventListener|prependListener|subscribe|handle|register|set)$/
const keyed =
  /^(ObjectProperty|ObjectMethod|ClassMethod|ClassProperty|ClassAccessorProperty|TSPropertySignature|TSMethodSignature|ObjectTypeProperty)$/
const functions = /Function|Method|^Program$/

/** The places of a text; none where it stands in no such position. */
export function placesOf(node: SyntaxNode, ancestors: Ancestors): readonly Place[] {
  const parent = ancestors.at(-1)
  const above = ancestors.at(-2)
  const file = ancestors[0]
  if (!parent || !file) return []
  if (keyed.test(parent.type) && parent.key === node) {
    return above ? [{ kind: 'key', scope: above }] : []
  }
  if (parent.type === 'SwitchCase') return above ? [{ kind: 'case', scope: above }] : []
  if (parent.type === 'MemberExpression' && isAssigned(parent, above)) {
    return [{ kind: 'call', scope: file }]
  }
  if (parent.type === 'BinaryExpression' && /^[!=]==?$/.test(String(parent.operator))) {
    return [
      { kind: 'comparison', scope: ancestors.findLast(({ type }) => functions.test(type)) ?? file },
    ]
  }
  const isList = /^(ArrayExpression|TSUnionType|UnionTypeAnnotation|TSTupleType)$/
  const list = ancestors.findLast(({ type }) => isList.test(type))
  const inList = list !== undefined && (list === parent || list === above)
  return [
    ...(inList ? [{ kind: 'element', scope: list } as const] : []),
    ...(isRegistered(node, ancestors) ? [{ kind: 'call', scope: file } as const] : []),
  ]
}

/** `handlers['request.approved'] = …` */
function isAssigned(member: SyntaxNode, above: SyntaxNode | undefined): boolean {
  return above?.type === 'AssignmentExpression' && above.left === member
}

/** `receiver.on('request.approved', …)`, also in a list. */
function isRegistered(node: SyntaxNode, ancestors: Ancestors): boolean {
  const parent = ancestors.at(-1)
  const inList = parent?.type === 'ArrayExpression'
  const call = inList ? ancestors.at(-2) : parent
  const argument = inList ? parent : node
  if (!call || !/^(Optional)?CallExpression$/.test(call.type)) return false
  const [first, second] = nodesAt(call, 'arguments')
  if (first !== argument) return false
  const name = calledName(call)
  // A set of one argument is a Set or a store; of two it registers.
  return registering.test(name) && (name !== 'set' || second !== undefined)
}

/** The last part of what is called: `on` of `receiver.on(…)`. */
export function calledName(call: SyntaxNode): string {
  const callee = nodeAt(call, 'callee')
  const named = callee?.type === 'Identifier' ? callee : nodeAt(callee, 'property')
  return typeof named?.name === 'string' ? named.name : ''
}

/** A module's name, which is a file's and not an event's. */
export function isModuleName(node: SyntaxNode, ancestors: Ancestors): boolean {
  const parent = ancestors.at(-1)
  if (!parent) return false
  if (parent.source === node) return true
  if (
    /^(TSExternalModuleReference|TSModuleDeclaration|TSImportType|ImportAttribute)$/.test(
      parent.type,
    )
  ) {
    return true
  }
  if (ancestors.at(-2)?.type === 'TSImportType') return true
  if (parent.type === 'ImportExpression') return true
  const isCall = parent.type === 'CallExpression' && nodesAt(parent, 'arguments')[0] === node
  if (!isCall) return false
  const callee = nodeAt(parent, 'callee')
  return (
    callee?.type === 'Import' || /^(require|resolve|mock|doMock|unmock)$/.test(calledName(parent))
  )
}
