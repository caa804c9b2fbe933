// Uses of legacy names that only run time settles: reported with what to do, never rewritten.
import {
  completesName,
  couldMakeLegacy,
  currentPrefix,
  holdsLegacy,
  isNameForm,
  legacyPrefix,
  matchesOnlyLegacy,
  replacementOf,
} from '../legacy.ts'
import { assembly, type Constants, constantsOf, isPiece, merged, piecesOf } from './pieces.ts'
import { calledName } from './places.ts'
import { handlesParts, isNestedName, isPrefixUse } from './prefix-use.ts'
import { type Ancestors, nodesAt, type SyntaxNode, textOf } from './syntax.ts'

/** A use that a person must look at. */
export interface Dynamic {
  readonly kind: 'template' | 'concatenation' | 'prefix' | 'regexp' | 'embedded'
  readonly node: SyntaxNode
  readonly suggestion: string
}

/** What a file says elsewhere of the texts in it. */
export interface Surroundings {
  readonly constants: Constants
  /** Whether it takes names apart, or puts them together. */
  readonly parts: boolean
}

export function surroundingsOf(root: SyntaxNode): Surroundings {
  return { constants: constantsOf(root), parts: handlesParts(root) }
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
const unknownPrefix = `if what stands before the dot can be '${legacyPrefix}', make it '${currentPrefix}'`

function found(kind: Dynamic['kind'], node: SyntaxNode, suggestion = suggestions[kind]): Dynamic {
  return { kind, node, suggestion }
}

/** What a node is, if it is a dynamic use; parts of one are left to the whole. */
export function dynamicUse(
  node: SyntaxNode,
  ancestors: Ancestors,
  around: Surroundings,
): Dynamic | undefined {
  if (node.type === 'RegExpLiteral') {
    const legacy = matchesOnlyLegacy(String(node.pattern), String(node.flags))
    return legacy ? found('regexp', node) : undefined
  }
  if (node.type === 'JSXText') {
    const text = String(node.value).trim()
    return replacementOf(text) || holdsLegacy(text) ? found('embedded', node) : undefined
  }
  if (isNestedName(node)) return found('prefix', node)
  if (isPiece(node, ancestors)) return undefined
  if (assembly(node)) return assembledUse(node, ancestors, around)
  const text = textOf(node)
  return text === undefined ? undefined : textUse(node, { text, ancestors, around })
}

function assembledUse(node: SyntaxNode, ancestors: Ancestors, { constants }: Surroundings) {
  const apart = piecesOf(node, constants)
  const pieces = merged(apart)
  if (isPattern(node, ancestors)) {
    const source = pieces.map((piece) => piece ?? '.*').join('')
    if (matchesOnlyLegacy(source, '')) return found('regexp', node)
  }
  const kind = assembly(node) === 'template' ? 'template' : 'concatenation'
  const [first, second] = pieces
  const whole = pieces.length === 1 && first !== undefined && replacementOf(first)
  const begins = first === legacyPrefix && second === undefined && pieces.length > 1
  if (whole || begins || couldMakeLegacy(pieces) || couldMakeLegacy(apart)) return found(kind, node)
  return completesName(pieces) ? found(kind, node, unknownPrefix) : undefined
}

interface TextUse {
  readonly text: string
  readonly ancestors: Ancestors
  readonly around: Surroundings
}

function textUse(node: SyntaxNode, { text, ancestors, around }: TextUse): Dynamic | undefined {
  if (isPattern(node, ancestors)) {
    return matchesOnlyLegacy(text, '') ? found('regexp', node) : undefined
  }
  if (replacementOf(text) !== undefined) {
    // What a tag makes of its text nobody can see here.
    const tagged = ancestors.at(-1)?.type === 'TaggedTemplateExpression'
    return tagged ? found('embedded', node) : undefined
  }
  if (isPrefixUse(node, ancestors, around.parts)) return found('prefix', node)
  if (isNameForm(text)) return found('embedded', node, unknownPrefix)
  const kind = holdsLegacy(text)
  return kind && found(kind, node)
}

/** `new RegExp(…)` */
function isPattern(node: SyntaxNode, ancestors: Ancestors): boolean {
  const parent = ancestors.at(-1)
  if (!parent || !/^(New|Call)Expression$/.test(parent.type)) return false
  return calledName(parent) === 'RegExp' && nodesAt(parent, 'arguments')[0] === node
}
