// migrate code: renames exact legacy names in sources, and reports what is decided at run time.
import { CliError, type ExitCode, exitCodes } from '../../exit-code.ts'
import { exclusionOf } from '../../migrate/code/exclusion.ts'
import { type MigratedFile, migrateFile } from '../../migrate/code/migrate-files.ts'
import { defaultBases } from '../../migrate/code/paths.ts'
import { reportFile, reportTotals } from '../../migrate/code/report.ts'
import { refusedRepositories } from '../../migrate/code/repository.ts'
import { toSarif } from '../../migrate/code/sarif.ts'
import { sourceFiles } from '../../migrate/code/source-files.ts'
import { kindOf } from '../../migrate/code/syntax.ts'
import { type EndedFile, type Totals, totalsOf } from '../../migrate/code/totals.ts'
import { printable } from '../../output.ts'
import { repeated } from '../../repeated.ts'
import { act, declare, type Session } from '../../session.ts'
import { replaceWhole } from '../../write-file.ts'

interface CodeOptions {
  readonly write?: boolean
  readonly check?: boolean
  readonly strict?: boolean
  readonly force?: boolean
  readonly sarif?: boolean
  readonly paths?: boolean
  readonly base?: readonly string[]
  readonly exclude?: readonly string[]
}

export const migrateCode = (session: Session) =>
  declare('code', {
    summary: 'rename legacy event names in source files and fixtures',
    details: [
      'Renames literals that are exactly a legacy name (strings, object keys, case labels, types) in JavaScript and TypeScript, in the scripts of Vue, Svelte and Astro files, and in JSON. Every other byte stays unchanged. Names that are built at run time are reported, never guessed. A name whose replacement exists in the same place is reported as a collision and stays. In all other text files (YAML, SQL, Markdown, …) legacy names are listed with their place.',
      'Deploy the receiver of this package first: it accepts both names. A file that verifies deliveries without it is reported and stays unchanged, because after a rename it would miss events that arrive under a legacy name.',
      'A comment idv-webhooks-ignore excludes its line (or the next one, if it is on a line of its own), idv-webhooks-ignore-file the whole file.',
      'Without --write it prints a diff and writes nothing. Exits 0, or 1 for a collision or a file that another program changed meanwhile, or 2 for a file that cannot be parsed. --check also exits 1 if there is anything to rename, and with --strict if there is anything to check manually.',
    ],
    examples: [
      'idv-webhooks migrate code',
      'idv-webhooks migrate code src test --write',
      'idv-webhooks migrate code --check --sarif > legacy-names.sarif',
      'idv-webhooks migrate code src --paths --base https://api.example.com/v2/api',
      "idv-webhooks migrate code --exclude 'src/generated' --exclude '*.min.js'",
    ],
  })
    .argument('[paths...]', 'files and folders (default: the current folder)')
    .option('--write', 'change the files')
    .option('--check', 'change nothing; set the exit code')
    .option('--strict', 'with --check: also exit 1 for what is only reported')
    .option('--force', 'with --write: allow uncommitted changes')
    .option('--sarif', 'print SARIF 2.1.0')
    .option('--exclude <path>', 'leave out a path or glob; repeatable', repeated)
    .option('--paths', 'also rename the API path /requests to /verifications')
    .option(
      '--base <base>',
      'with --paths: another base before the path, besides /v2/api; repeatable',
      repeated,
    )
    .action(act<CodeOptions>(session, (options, paths) => run(session, options, paths)))

async function run(session: Session, options: CodeOptions, given: readonly string[]) {
  if (options.write && options.check) {
    throw new CliError('USAGE', 'use --write or --check, not both')
  }
  const { cwd } = session
  const isExcluded = exclusionOf(cwd, options.exclude ?? [])
  const paths = sourceFiles(cwd, given.length === 0 ? ['.'] : given, isExcluded)
  const bases = [...defaultBases, ...(options.base ?? [])]
  const rule = options.paths ? { bases } : undefined
  const seen: MigratedFile[] = []
  const done: EndedFile[] = []
  try {
    for (const [at, path] of paths.entries()) {
      await breathe(session, at, paths.length)
      const file = migrateFile(cwd, path, rule)
      // Texts without a legacy name are not worth counting.
      if (kindOf(path) !== 'text' || file.findings.length > 0) seen.push(file)
    }
    const changing = seen.filter(({ edits }) => edits.length > 0).map(({ path }) => path)
    if (options.write && !options.force) refuseDirty(paths, changing)
    await settle(session, { options, files: seen, done })
  } finally {
    // After an interruption too: written files stay changed.
    if (done.length > 0 || session.signal.aborted) {
      reportEnd(session, options, totalsOf(done, seen.length))
    }
  }
  if (options.sarif) {
    const lines = JSON.stringify(toSarif(seen, cwd), null, 2).split('\n')
    session.stdout.write(`${lines.map(printable).join('\n')}\n`)
  }
  const totals = totalsOf(done, seen.length)
  if (done.length === 0) reportEnd(session, options, totals)
  return exitCodeOf(totals, options)
}

interface Settling {
  readonly options: CodeOptions
  readonly files: readonly MigratedFile[]
  /** The finished files. */
  readonly done: EndedFile[]
}

/** Writes and reports every file. */
async function settle(session: Session, { options, files, done }: Settling): Promise<void> {
  const reporting = { written: Boolean(options.write), advised: new Set<string>() }
  for (const [at, file] of files.entries()) {
    await breathe(session, at, files.length)
    const ended: EndedFile = reporting.written ? { ...file, ...written(file) } : file
    if (!options.sarif) reportFile(session.out, ended, reporting)
    done.push(ended)
  }
}

/** Why a file was not written; empty if it was, or if nothing changed. */
function written({ edits, path, input, output }: MigratedFile): Pick<EndedFile, 'left'> {
  if (edits.length === 0) return {}
  try {
    const isSame = replaceWhole(path, { before: input, after: output })
    return isSame ? {} : { left: 'was changed by another program in the meantime' }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'FAILED'
    return { left: `cannot be written (${code})` }
  }
}

function reportEnd({ out, signal }: Session, options: CodeOptions, totals: Totals): void {
  if (options.sarif) return
  reportTotals(out, totals, { written: Boolean(options.write), interrupted: signal.aborted })
}

/** Lets Ctrl-C take effect between two files. */
async function breathe({ signal, out }: Session, at: number, all: number): Promise<void> {
  if (at % 20 !== 0) return
  out.progress(`${at}/${all} files`)
  await new Promise<void>((resolve) => setImmediate(resolve))
  signal.throwIfAborted()
}

function refuseDirty(paths: readonly string[], changing: readonly string[]): void {
  const refused = refusedRepositories(paths, changing)
  const [first] = refused
  if (!first) return
  const tops = refused.filter(({ why }) => why === first.why).map(({ top }) => top)
  const message = {
    dirty: `${tops.join(', ')} has uncommitted changes that the renames would mix with: commit or stash them first, or pass --force`,
    unknown: `whether ${tops.join(', ')} has uncommitted changes is not known: git status fails there. Look what it says, or pass --force`,
    unwatched: `git would not show what is renamed in ${first.file}: it does not know the file, ignores it, or was asked to look past its changes. Commit it first, or pass --force`,
  }
  throw new CliError('TREE_DIRTY', message[first.why])
}

function exitCodeOf(
  { changed, findings, collisions, errors, left }: Totals,
  options: CodeOptions,
): ExitCode {
  if (errors > 0) return exitCodes.usage
  if (collisions > 0 || left > 0) return exitCodes.failed
  if (!options.check) return exitCodes.ok
  return changed > 0 || (options.strict && findings > 0) ? exitCodes.failed : exitCodes.ok
}
