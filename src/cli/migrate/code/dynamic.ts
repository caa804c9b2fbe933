// Uses of legacy names that only run time settles: reported with what to do, never rewritten.
import {
  couldMakeLegacy,
  currentPrefix,
  holdsLegacy,
  legacyPrefix,
  matchesOnlyLegacy,
  replacementOf,
} from '../legacy.ts'
import { calledName } from './places.ts'
import { type Ancestors, cooked, nodeAt, nodesAt, type SyntaxNode, textOf } from './syntax.ts'

/** A use that a person must look at. */
export interface Dynamic {
  readonly kind: 'template' | 'concatenation' | 'prefix' | 'regexp' | 'embedded'
  readonly node: SyntaxNode
  readonly suggestion: string
}

const both = `take both prefixes while old deliveries may come: '${legacyPrefix}.' and '${currentPrefix}.'`
const suggestions: Readonly<Record<Dynamic['kind'], string>> = {
  template: `build the name from '${currentPrefix}.', or list the names that are meant`,
  concatenation: `build the name from '${currentPrefix}.', or write it as one literal`,
  prefix: `ask for '${currentPrefix}.': events come under the current names, whatever arrived; elsewhere ${both}`,
  regexp: `match ${currentPrefix}\\. instead; where stored names may be old, ${both}`,
  embedded:
    'the name stands inside a longer text: rename it there if that text is read by a program',
}

const found = (kind: Dynamic['kind'], node: SyntaxNode): Dynamic => ({
  kind,
  node,
  suggestion: suggestions[kind],
})

/** What a node is, if it is a dynamic use; parts of one are left to the whole. */
export function dynamicUse(node: SyntaxNode, ancestors: Ancestors): Dynamic | undefined {
  if (node.type === 'RegExpLiteral') {
    const legacy = matchesOnlyLegacy(String(node.pattern), String(node.flags))
    return legacy ? found('regexp', node) : undefined
  }
  if (isSum(node)) {
    if (isSum(ancestors.at(-1))) return undefined
    const apart = partsOf(node)
    const parts = merged(apart)
    const whole = parts.length === 1 && parts[0] !== undefined && replacementOf(parts[0])
    const could = whole || couldMakeLegacy(parts) || couldMakeLegacy(apart)
    return could ? found('concatenation', node) : undefined
  }
  if (inSum(ancestors)) return undefined
  const text = textOf(node)
  if (text !== undefined) return textUse(node, text, ancestors)
  if (node.type !== 'TemplateLiteral' && node.type !== 'TSTemplateLiteralType') return undefined
  return couldMakeLegacy(templateParts(node)) ? found('template', node) : undefined
}

function textUse(node: SyntaxNode, text: string, ancestors: Ancestors): Dynamic | undefined {
  const parent = ancestors.at(-1)
  if (parent && isRegExpCall(parent) && nodesAt(parent, 'arguments')[0] === node) {
    return matchesOnlyLegacy(text, '') ? found('regexp', node) : undefined
  }
  if (replacementOf(text) !== undefined) return undefined
  if (text === legacyPrefix && comparesSplit(node, parent)) return found('prefix', node)
  const kind = holdsLegacy(text)
  return kind && found(kind, node)
}

/** A literal that is only a part of a sum is no name by itself. */
export function inSum(ancestors: Ancestors): boolean {
  const parent = ancestors.at(-1)
  const above = parent?.type === 'ParenthesizedExpression' ? ancestors.at(-2) : parent
  return isSum(above)
}

function isSum(node: SyntaxNode | undefined): boolean {
  if (node?.type === 'AssignmentExpression') return node.operator === '+='
  return node?.type === 'BinaryExpression' && node.operator === '+'
}

function partsOf(node: SyntaxNode): readonly (string | undefined)[] {
  if (isSum(node)) {
    return ['left', 'right'].flatMap((side) => {
      const part = nodeAt(node, side)
      return part ? partsOf(part) : [undefined]
    })
  }
  const text = textOf(node)
  if (text !== undefined) return [text]
  return node.type === 'TemplateLiteral' ? templateParts(node) : [undefined]
}

/** Neighbouring texts as one. */
function merged(parts: readonly (string | undefined)[]): readonly (string | undefined)[] {
  const together: (string | undefined)[] = []
  for (const part of parts) {
    const last = together.at(-1)
    if (part !== undefined && last !== undefined) together[together.length - 1] = last + part
    else together.push(part)
  }
  return together
}

function templateParts(node: SyntaxNode): readonly (string | undefined)[] {
  return nodesAt(node, 'quasis').flatMap((quasi, at) =>
    at === 0 ? [cooked(quasi) ?? ''] : [undefined, cooked(quasi) ?? ''],
  )
}

function isRegExpCall(node: SyntaxNode): boolean {
  return /^(New|Call)Expression$/.test(node.type) && calledName(node) === 'RegExp'
}

/** `name.split('.')[0] === 'request'` */
function comparesSplit(node: SyntaxNode, parent: SyntaxNode | undefined): boolean {
  if (parent?.type !== 'BinaryExpression' || !/^[!=]==?$/.test(String(parent.operator)))
    return false
  const other = nodeAt(parent, parent.left === node ? 'right' : 'left')
  const call = other?.type.endsWith('MemberExpression') ? nodeAt(other, 'object') : undefined
  return call !== undefined && calledName(call) === 'split'
}
