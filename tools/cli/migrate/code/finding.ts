// A change that the migration makes in a file, or a place that a person must decide.
import type { Dynamic } from './dynamic.ts'

/** A place in a file, starting at 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A literal that is rewritten. */
export interface Edit extends Position {
  readonly from: string
  readonly to: string
}

/** Something that a person must decide. */
export interface Finding extends Position {
  readonly kind: Dynamic['kind'] | 'collision' | 'path' | 'received' | 'receiver' | 'mention'
  /** The source text of the place. */
  readonly text: string
  readonly suggestion: string
}
