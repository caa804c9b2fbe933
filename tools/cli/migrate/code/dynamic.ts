// Uses of legacy names that are decided at run time: reported with advice, never rewritten.
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
import { isNestedName, isPrefixUse, splitsNames } from './prefix-use.ts'
import { type Ancestors, nodesAt, type SyntaxNode, textOf } from './syntax.ts'

/** A use that a person must check. */
export interface Dynamic {
  readonly kind: 'template' | 'concatenation' | 'prefix' | 'regexp' | 'embedded'
  readonly node: SyntaxNode
  readonly suggestion: string
}

/** Context that the rest of a file gives for its texts. */
export interface Surroundings {
  readonly constants: Constants
  /** Whether the file splits or joins names. */
  readonly parts: boolean
}

export function surroundingsOf(root: SyntaxNode): Surroundings {
  return { constants: constantsOf(root), parts: splitsNames(root) }
}

const both = `accept both prefixes while old deliveries may arrive: '${legacyPrefix}.' and '${currentPrefix}.'`
const suggestions: Readonly<Record<Dynamic['kind'], string>> = {
  template: `build the name from '${currentPrefix}.', or list the names`,
  concatenation: `build the name from '${currentPrefix}.', or write it as one literal`,
  prefix: `use '${currentPrefix}.': the receiver dispatches events under their current names; elsewhere ${both}`,
  regexp: `match ${currentPrefix}\\. instead; if stored names may be old, ${both}`,
  embedded: 'the name is part of a longer text: rename it if a program reads that text',
}
const unknownPrefix = `if the part before the dot can be '${legacyPrefix}', change it to '${currentPrefix}'`

function found(kind: Dynamic['kind'], node: SyntaxNode, suggestion = suggestions[kind]): Dynamic {
  return { kind, node, suggestion }
}

/** The dynamic use that a node is; parts of one are left to the whole. */
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
    // The effect of a template tag is unknown.
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
