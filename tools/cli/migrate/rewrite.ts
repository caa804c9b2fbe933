// Renames literals that are exactly a legacy name in JavaScript and TypeScript; every other byte stays
// unchanged. Lists the legacy names that it leaves, with their place.
import { type ParserOptions, parse } from '@babel/parser'
import MagicString from 'magic-string'
import { canonicalName, legacyNames } from '../../../src/protocol/index.ts'

export interface SourcePlace {
  readonly line: number
  readonly column: number
}

export interface Edit extends SourcePlace {
  readonly from: string
  readonly to: string
}

/**
 * A legacy name that is left: `both`, because the current name is in the file too; `received`, beside
 * `receivedName`, where it is right; `receiver`, in code that verifies deliveries by itself and would
 * miss events under the legacy name; `mention` in other text.
 */
export interface Finding extends SourcePlace {
  readonly kind: 'both' | 'received' | 'receiver' | 'mention'
  readonly name: string
}

export interface RewrittenSource {
  readonly output: string
  readonly edits: readonly Edit[]
  readonly findings: readonly Finding[]
}

/** A node of any type: its position, and fields that depend on its type. */
interface SyntaxNode {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** A text in the tree. */
interface FoundText {
  readonly node: SyntaxNode
  readonly parent: SyntaxNode | undefined
  /** Its value if it is a literal without holes. */
  readonly value: string | undefined
}

const dialects: readonly (readonly [ends: RegExp, plugins: ParserOptions['plugins']])[] = [
  [/\.d\.[mc]?ts$/, [['typescript', { dts: true }]]],
  [/\.[mc]?ts$/, ['typescript']],
  [/\.tsx$/, ['jsx', 'typescript']],
  [/\.[mc]?jsx?$/, ['jsx', 'flow']],
]

/** Whether a file is code that is renamed; every other file is only searched. */
export const isCode = (file: string) => dialects.some(([ends]) => ends.test(file))

const [prefix = ''] = legacyNames[0].split('.')
const steps = legacyNames.map((name) => name.split('.')[1]).join('|')
const everyName = new RegExp(`(?<![\\w$.-])${prefix}\\.(?:(?:${steps})(?![\\w$-])|\\*)`, 'g')
const someName = new RegExp(`${prefix}(?:\\.|\\\\u)`)

/** Tells whether a text can contain a legacy name; most files cannot and are not parsed. */
export const mayHaveLegacyName = (text: string) => someName.test(text)

const verifies = /\bcreateHmac\b|\btimingSafeEqual\b|\bsubtle\b|x-service-signature|hmac-?sha/i
const usesPackage = /['"]idv-webhooks(?:\/\w+)*['"]/
const intended = /\b(?:receivedName|canonicalName|legacyNames)\b/
const intendedSwitch = /\bswitch\s*\([^)]*\b(?:receivedName|canonicalName)\b/

/** Throws a SyntaxError if the file cannot be parsed. */
export function rewriteSource(text: string, file: string): RewrittenSource {
  if (/\bidv-webhooks-ignore-file\b/.test(text)) return { output: text, edits: [], findings: [] }
  const isIgnored = ignoredLines(text)
  const whole = { node: { type: 'File', start: 0, end: text.length }, parent: undefined }
  const found = isCode(file) ? textsOf(parseSource(text, file)) : [{ ...whole, value: undefined }]
  const leftAs = reasons(text, found)
  const edited = new MagicString(text)
  const edits: Edit[] = []
  const findings: Finding[] = []
  for (const one of found) {
    const { start, end } = one.node
    const from = one.value ?? ''
    const to = canonicalName(from)
    if (to === from) {
      for (const { 0: name, index } of text.slice(start, end).matchAll(everyName)) {
        findings.push({ ...placeAt(text, start + index), kind: 'mention', name })
      }
      continue
    }
    const place = placeAt(text, start)
    const kind = leftAs(one)
    if (kind) findings.push({ ...place, kind, name: from })
    else if (!isIgnored(place.line)) {
      edited.update(start + 1, end - 1, to)
      edits.push({ ...place, from, to })
    }
  }
  return {
    output: edited.toString(),
    edits: edits.sort(inOrder),
    findings: findings.filter(({ line }) => !isIgnored(line)).sort(inOrder),
  }
}

const inOrder = (a: SourcePlace, b: SourcePlace) => a.line - b.line || a.column - b.column

/** Why an exact literal is left; undefined if it is renamed. */
function reasons(text: string, found: readonly FoundText[]) {
  const values = new Set(found.map(({ value }) => value))
  const isReceiver = verifies.test(text) && !usesPackage.test(text)
  return ({ parent, value = '' }: FoundText): Finding['kind'] | undefined => {
    if (isReceiver) return 'receiver'
    const around = parent ? text.slice(parent.start, parent.end) : ''
    const isIntended =
      parent?.type === 'SwitchCase'
        ? intendedSwitch.test(text)
        : intended.test(around) && !/=>|\bfunction\b/.test(around)
    if (isIntended) return 'received'
    return values.has(canonicalName(value)) ? 'both' : undefined
  }
}

const lineEnd = /\r\n|[\n\r\u2028\u2029]/

/** A comment `idv-webhooks-ignore` excludes its line and the next one. */
function ignoredLines(text: string): (line: number) => boolean {
  const ignores = text.split(lineEnd).map((line) => /\bidv-webhooks-ignore\b/.test(line))
  return (line) => Boolean(ignores[line - 1] || ignores[line - 2])
}

function placeAt(text: string, offset: number): SourcePlace {
  const before = text.slice(0, offset).split(lineEnd)
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 }
}

function parseSource(text: string, file: string): SyntaxNode {
  const plugins = dialects.find(([ends]) => ends.test(file))?.[1] ?? []
  const { program } = parse(text, {
    sourceType: 'unambiguous',
    allowReturnOutsideFunction: true,
    allowAwaitOutsideFunction: true,
    allowSuperOutsideMethod: true,
    allowUndeclaredExports: true,
    errorRecovery: true,
    plugins: ['decoratorAutoAccessors', 'decorators', ...plugins],
  })
  // The walk needs only the fields that all node types of Babel have.
  return program as unknown as SyntaxNode
}

/** Nodes between a text and what says how it is used. */
const isList = /^(ArrayExpression|MemberExpression|\w*Union\w*|TSLiteralType|\w*TypeAnnotation)$/

/** The texts of a tree, without recursion: an expression of many parts is as deep as it is long. */
function textsOf(root: SyntaxNode): readonly FoundText[] {
  const found: FoundText[] = []
  const open: (readonly [node: SyntaxNode, parent: SyntaxNode | undefined])[] = [[root, undefined]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [node, parent] = next
    const value = parent?.type === 'TaggedTemplateExpression' ? undefined : textOf(node)
    const isText = value !== undefined || /^(TemplateElement|JSXText)$/.test(node.type)
    if (isText) found.push({ node, parent, value })
    for (const [field, value] of isText ? [] : Object.entries(node)) {
      if (/Comments$|^(loc|extra)$/.test(field)) continue
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value]) {
        if (isNode(child)) open.push([child, isList.test(node.type) ? parent : node])
      }
    }
  }
  return found
}

function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

function textOf(node: SyntaxNode): string | undefined {
  if (/^StringLiteral(TypeAnnotation)?$/.test(node.type)) return String(node.value)
  if (node.type !== 'TemplateLiteral' && node.type !== 'TSTemplateLiteralType') return undefined
  const quasis = node.quasis as readonly { readonly value: { readonly cooked?: string } }[]
  return quasis.length === 1 ? quasis[0]?.value.cooked : undefined
}
