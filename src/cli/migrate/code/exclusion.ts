// What a caller leaves out by --exclude: paths and globs, as .gitignore reads them.
import { relative, sep } from 'node:path'
import ignore from 'ignore'

/** Whether a file is left out; what is not below the folder of the call is not spoken of. */
export function exclusionOf(cwd: string, patterns: readonly string[]): (path: string) => boolean {
  const rules = ignore().add(patterns.map((one) => one.replace(/^\.\//, '/')))
  return (path) => {
    const name = relative(cwd, path).split(sep).join('/')
    return name !== '' && !name.startsWith('../') && rules.ignores(name)
  }
}
