// Paths and globs that --exclude skips, in the syntax of .gitignore.
import { relative, sep } from 'node:path'
import ignore from 'ignore'

/** Whether a file is left out; files outside of the current folder never are. */
export function exclusionOf(cwd: string, patterns: readonly string[]): (path: string) => boolean {
  const rules = ignore().add(patterns.map((one) => one.replace(/^\.\//, '/')))
  return (path) => {
    const name = relative(cwd, path).split(sep).join('/')
    return name !== '' && !name.startsWith('../') && rules.ignores(name)
  }
}
