// How many files of a migration ended how.
import type { MigratedFile } from './migrate-files.ts'

/** The final result for a file. */
export interface EndedFile extends MigratedFile {
  /** Why it was not written. */
  readonly left?: string
}

/** How many files ended how. */
export interface Totals {
  readonly changed: number
  readonly names: number
  readonly unchanged: number
  readonly findings: number
  readonly collisions: number
  readonly errors: number
  /** Should have been changed, but were not written. */
  readonly left: number
  /** Not reached before the run was interrupted. */
  readonly missed: number
}

export function totalsOf(files: readonly EndedFile[], all: number): Totals {
  const findings = files.flatMap((file) => file.findings)
  const collisions = findings.filter(({ kind }) => kind === 'collision').length
  const changed = files.filter(({ edits, left }) => edits.length > 0 && left === undefined)
  return {
    changed: changed.length,
    names: changed.flatMap(({ edits }) => edits).length,
    unchanged: files.filter(({ edits, error }) => edits.length === 0 && !error).length,
    findings: findings.length - collisions,
    collisions,
    errors: files.filter(({ error }) => error).length,
    left: files.filter(({ left }) => left !== undefined).length,
    missed: all - files.length,
  }
}
