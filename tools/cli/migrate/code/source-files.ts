// The files to migrate: the named ones, and those of folders that git does not ignore.
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join, relative, resolve, sep } from 'node:path'
import ignore, { type Ignore } from 'ignore'
import { CliError } from '../../exit-code.ts'
import { statOf } from '../../stat-of.ts'
import { excludeFilesOf, repositoryOf } from './repository.ts'

interface Rules {
  readonly folder: string
  readonly rules: Ignore
}

/** The source files of paths, each once, in a stable order. */
export function sourceFiles(
  cwd: string,
  paths: readonly string[],
  isExcluded: (path: string) => boolean = () => false,
): readonly string[] {
  const files = paths.flatMap((path) => {
    const full = resolve(cwd, path)
    const found = statOf(full)
    if (!found) throw new CliError('FILE_MISSING', `${path} does not exist: check the path`)
    if (found.isDirectory()) return inFolder(realpathSync(full))
    // Reading a pipe could last for ever, and no signal would end it.
    if (!found.isFile()) throw new CliError('USAGE', `${path} is a pipe or a device, not a file`)
    return [realpathSync(full)]
  })
  return [...new Set(files)].filter((file) => !isExcluded(file))
}

function inFolder(folder: string): readonly string[] {
  const top = repositoryOf(folder) ?? folder
  const steps = relative(top, folder).split(sep).filter(Boolean)
  const above = steps.map((_, at) => join(top, ...steps.slice(0, at)))
  const rules = [
    ...excludeFilesOf(top).flatMap((file) => rulesIn(top, file)),
    ...above.flatMap(rulesOf),
  ]
  // A folder that git ignores was named on purpose: the rule that ignores it does not apply inside.
  return walkFolder(
    folder,
    rules.filter((one) => one.folder === folder || !isIgnored(`${folder}${sep}`, [one])),
  )
}

function walkFolder(folder: string, above: readonly Rules[]): readonly string[] {
  const rules = [...above, ...rulesOf(folder)]
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) {
        const skipped = entry.name === 'node_modules' || entry.name === '.git'
        return skipped || isIgnored(`${path}${sep}`, rules) ? [] : walkFolder(path, rules)
      }
      // Links are not followed: their targets are found at their own place.
      return entry.isFile() && !lockFile.test(entry.name) && !isIgnored(path, rules) ? [path] : []
    })
}

/** Generated, large, and without event names. */
const lockFile = /^(package-lock|npm-shrinkwrap)\.json$|^pnpm-lock\.yaml$|\.lock$|\.lockb$/

/** The nearest .gitignore with a matching rule decides, as in git. */
function isIgnored(path: string, rules: readonly Rules[]): boolean {
  for (const { folder, rules: own } of [...rules].reverse()) {
    const name = relative(folder, path).split(sep).join('/') + (path.endsWith(sep) ? '/' : '')
    const { ignored, unignored } = own.test(name)
    if (ignored || unignored) return ignored
  }
  return false
}

function rulesOf(folder: string): readonly Rules[] {
  return rulesIn(folder, join(folder, '.gitignore'))
}

/** Rules beyond it are passed over. */
const maxRulesBytes = 1024 * 1024

function rulesIn(folder: string, file: string): readonly Rules[] {
  // Reading a pipe or a device would never end.
  const found = statOf(file)
  if (!found?.isFile() || found.size > maxRulesBytes) return []
  try {
    return [{ folder, rules: ignore().add(readFileSync(file, 'utf8')) }]
  } catch {
    return []
  }
}
