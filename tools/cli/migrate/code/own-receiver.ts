// Files that must not be renamed: receivers that see the names that arrive, because they prove
// deliveries without this package, or with its `verify` alone.
import { isModuleName } from './places.ts'
import {
  type Ancestors,
  nodeAt,
  nodesAt,
  type Syntax,
  type SyntaxNode,
  textOf,
  walk,
} from './syntax.ts'

/** A value that a file takes from a module; `*` for all of it. */
interface Import {
  readonly module: string
  readonly names: readonly string[]
}

/** An HMAC of any library, a key of WebCrypto, or the header of the signature, where it is read. */
const proof =
  /\bcreateHmac\b|\btimingSafeEqual\b|\bCryptoHasher\b|\bsubtle\.(verify|sign|importKey)\b|hmac\w{0,40}\s*\(|\.hmac\b|(['"`])hmac-?sha-?\d+\2|(['"`])x-service-signature\3(?!\s*:)/i

/** Whether a source proves deliveries by itself, and does not read their events with this package. */
export function isOwnReceiver(text: string, { root, comments }: Syntax): boolean {
  const code = withoutComments(text, comments)
  const imports = importsOf(root).map((one) => ({ ...one, names: namesUsed(one, code) }))
  const proves =
    imports.some(({ module, names }) => /hmac/i.test(module) || isVerify(module, names)) ||
    proof.test(code)
  return proves && !imports.some(givesCurrentNames)
}

/** Of a whole module those names count that stand behind a point; `.parse` is JSON's too. */
const namesUsed = ({ module, names }: Import, code: string): readonly string[] =>
  module.startsWith('idv-webhooks') && names.includes('*')
    ? [...names, ...[...code.matchAll(/\.(?!parse\b)(\w+)/g)].map(([, name]) => name ?? '')]
    : names

const isVerify = (module: string, names: readonly string[]) =>
  module === 'idv-webhooks' && names.includes('verify')

const readers = new Set(['createReceiver', 'createWorker', 'parse', 'canonicalName'])
const adapters = /^(express|fastify|fetch|lambda|nest|next|node)$/

/** Whether an import shows that events are read by this package, which gives them current names. */
function givesCurrentNames({ module, names }: Import): boolean {
  const [, door] = /^idv-webhooks(?:\/(.+))?$/.exec(module) ?? []
  if (adapters.test(door ?? '')) return names.length > 0
  const isReader = module === 'idv-webhooks' || door === 'protocol'
  return isReader && names.some((name) => readers.has(name))
}

function importsOf(root: SyntaxNode): readonly Import[] {
  const found: Import[] = []
  walk(root, (node, ancestors) => {
    const module = textOf(node)
    if (module === undefined || !isModuleName(node, ancestors)) return
    found.push({ module, names: importedNames(ancestors) })
  })
  return found
}

/** The names that are taken from a module whose name has these nodes above it; types do not count. */
function importedNames(ancestors: Ancestors): readonly string[] {
  const parent = ancestors.at(-1)
  if (parent?.type === 'ImportDeclaration') {
    return isType(parent) ? [] : nodesAt(parent, 'specifiers').filter(isValue).map(importedName)
  }
  if (!/^(CallExpression|ImportExpression|TSExternalModuleReference)$/.test(parent?.type ?? '')) {
    return []
  }
  const target = nodeAt(ancestors.findLast(isDeclarator), 'id')
  if (target?.type !== 'ObjectPattern') return ['*']
  return nodesAt(target, 'properties').map((one) => nameOf(nodeAt(one, 'key')))
}

const isDeclarator = ({ type }: SyntaxNode) => type === 'VariableDeclarator'
const isType = ({ importKind }: SyntaxNode) => importKind === 'type' || importKind === 'typeof'
const isValue = (node: SyntaxNode) => !isType(node)
const importedName = (node: SyntaxNode) => nameOf(nodeAt(node, 'imported'))
const nameOf = (node: SyntaxNode | undefined) => String(node?.name ?? node?.value ?? '*')

function withoutComments(text: string, comments: Syntax['comments']): string {
  let [code, end] = ['', 0]
  for (const comment of comments) {
    code += `${text.slice(end, comment.start)} `
    end = comment.end
  }
  return code + text.slice(end)
}
