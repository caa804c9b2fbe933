// The place of a text in the tree: whether it names a module, and the scope in which a legacy name
// would collide with its replacement.
import { type Ancestors, nodeAt, nodesAt, type SyntaxNode } from './syntax.ts'

/**
 * The role of a text and its scope; two of one kind in one scope collide. A `value` may be registered
 * anywhere, through whatever it is passed to, so its scope is the file.
 */
export interface Place {
  readonly kind: 'value' | 'key' | 'case' | 'type' | 'read'
  readonly scope: SyntaxNode
}

const keyed =
  /^(ObjectProperty|ObjectMethod|ClassMethod|ClassProperty|ClassAccessorProperty|TSPropertySignature|TSMethodSignature|ObjectTypeProperty)$/
const typed = /^(TSLiteralType|TSPropertySignature|TSMethodSignature|ObjectTypeProperty)$/
const typeLists = /^(TSUnionType|UnionTypeAnnotation|TSTupleType|TupleTypeAnnotation)$/
const functions = /Function|Method|^Program$/

/** The place of a text; undefined if it cannot collide. */
export function placeOf(node: SyntaxNode, ancestors: Ancestors): Place | undefined {
  const parent = ancestors.at(-1)
  const above = ancestors.at(-2)
  const file = ancestors[0]
  if (!parent || !above || !file) return undefined
  if (typed.test(parent.type) || /TypeAnnotation$/.test(node.type + parent.type)) {
    return typePlace(parent, above)
  }
  const isKey = keyed.test(parent.type) && parent.key === node
  if (isKey && above.type === 'ObjectPattern') return { kind: 'key', scope: above }
  if (parent.type === 'SwitchCase') return { kind: 'case', scope: above }
  if (isRead(node, ancestors)) {
    const around = ancestors.findLast(({ type }) => functions.test(type))
    return { kind: 'read', scope: around ?? file }
  }
  return { kind: 'value', scope: file }
}

function typePlace(parent: SyntaxNode, above: SyntaxNode): Place | undefined {
  const list = [parent, above].find(({ type }) => typeLists.test(type))
  if (list) return { kind: 'type', scope: list }
  return keyed.test(parent.type) ? { kind: 'type', scope: above } : undefined
}

/** `name === 'request.approved'`, or `handlers['request.approved'](event)`. */
function isRead(node: SyntaxNode, ancestors: Ancestors): boolean {
  const [parent, above] = [ancestors.at(-1), ancestors.at(-2)]
  if (parent?.type === 'BinaryExpression') return /^[!=]==?$/.test(String(parent.operator))
  const isMember = parent?.type.endsWith('MemberExpression') && parent.property === node
  const isTarget = above?.type === 'AssignmentExpression' && above.left === parent
  return Boolean(isMember && !isTarget)
}

/** The last part of what is called: `on` of `receiver.on(…)`. */
export function calledName(call: SyntaxNode): string {
  const callee = nodeAt(call, 'callee')
  const named = callee?.type === 'Identifier' ? callee : nodeAt(callee, 'property')
  return typeof named?.name === 'string' ? named.name : ''
}

const isTest = /^(jest|vi|vitest)$/
const mocking =
  /^(mock|doMock|unmock|doUnmock|dontMock|importActual|importMock|requireActual|requireMock|setMock)$/

/** A module's name, which is a file's and not an event's. */
export function isModuleName(node: SyntaxNode, ancestors: Ancestors): boolean {
  const parent = ancestors.at(-1)
  if (!parent) return false
  if (parent.source === node || parent.type === 'ImportExpression') return true
  const names = /^(TSExternalModuleReference|TSModuleDeclaration|TSImportType|ImportAttribute)$/
  if (names.test(parent.type) || ancestors.at(-2)?.type === 'TSImportType') return true
  const isCall = parent.type === 'CallExpression' && nodesAt(parent, 'arguments')[0] === node
  return isCall && loadsModule(parent)
}

/** `require`, `require.resolve`, `import.meta.resolve`, `vi.mock`: not every `resolve` or `mock`. */
function loadsModule(call: SyntaxNode): boolean {
  const callee = nodeAt(call, 'callee')
  const name = calledName(call)
  if (callee?.type === 'Import') return true
  if (callee?.type === 'Identifier') return name === 'require'
  const owner = nodeAt(callee, 'object')
  if (name === 'resolve') return owner?.name === 'require' || owner?.type === 'MetaProperty'
  return mocking.test(name) && isTest.test(String(owner?.name))
}
