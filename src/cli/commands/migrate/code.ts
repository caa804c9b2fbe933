// migrate code: renames exact legacy names in sources; what only run time settles it reports.
import { CliError, type ExitCode, exitCodes } from '../../exit-code.ts'
import { exclusionOf } from '../../migrate/code/exclusion.ts'
import { type MigratedFile, migrateFile } from '../../migrate/code/migrate-files.ts'
import { defaultBases } from '../../migrate/code/paths.ts'
import { tellFile, tellTotals } from '../../migrate/code/report.ts'
import { dirtyRepositories } from '../../migrate/code/repository.ts'
import { toSarif } from '../../migrate/code/sarif.ts'
import { sourceFiles } from '../../migrate/code/source-files.ts'
import { type Ended, type Totals, totalsOf } from '../../migrate/code/totals.ts'
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
    summary: 'rename legacy event names in JavaScript and TypeScript',
    details: [
      'Renames literals that are exactly a legacy name: strings, object keys, case labels, types. Formatting stays byte for byte. Names that are made at run time are reported, never guessed; where old and new name would meet, that is reported as a collision and left alone. A comment idv-webhooks-ignore keeps a line (the next one, on a line of its own), idv-webhooks-ignore-file a file.',
      'Without --write nothing is written and a diff is shown; that exits 0, whatever it would change. --check exits 0 when there is nothing to rename, 1 when there is, or a collision, and 2 when a file cannot be parsed. A file that somebody saves while this runs is left as it is, and that exits 1.',
    ],
    examples: [
      'idv-webhooks migrate code',
      'idv-webhooks migrate code src test --write',
      'idv-webhooks migrate code --check --sarif > legacy-names.sarif',
      'idv-webhooks migrate code src --paths --base https://api.example.com/v2/api',
      "idv-webhooks migrate code --exclude 'src/generated' --exclude '*.min.js'",
    ],
  })
    .argument('[paths...]', 'files and folders; the current folder by default')
    .option('--write', 'change the files')
    .option('--check', 'change nothing; tell by the exit code')
    .option('--strict', 'with --check: fail for what is only reported, too')
    .option('--force', 'with --write: go on although not everything is committed')
    .option('--sarif', 'print SARIF 2.1.0 instead')
    .option('--exclude <path>', 'leave out a path or glob; may be repeated', repeated)
    .option('--paths', 'also rename the API path /requests to /verifications')
    .option('--base <base>', 'with --paths: what stands before the path; may be repeated', repeated)
    .action(act<CodeOptions>(session, (options, paths) => run(session, options, paths)))

async function run(session: Session, options: CodeOptions, given: readonly string[]) {
  if (options.write && options.check) {
    throw new CliError('USAGE', 'error: --write or --check, not both')
  }
  const { cwd } = session
  const isExcluded = exclusionOf(cwd, options.exclude ?? [])
  const paths = sourceFiles(cwd, given.length === 0 ? ['.'] : given, isExcluded)
  const rule = options.paths ? { bases: options.base ?? defaultBases } : undefined
  const seen: MigratedFile[] = []
  const done: Ended[] = []
  try {
    for (const [at, path] of paths.entries()) {
      await breathe(session, at, paths.length)
      seen.push(migrateFile(cwd, path, rule))
    }
    const changing = seen.filter(({ edits }) => edits.length > 0).map(({ path }) => path)
    if (options.write && !options.force) refuseDirty(paths, changing)
    await settle(session, { options, files: seen, done })
  } finally {
    // Told of an interruption too: what has been changed stays so.
    if (done.length > 0 || session.signal.aborted) {
      tellEnd(session, options, totalsOf(done, paths.length))
    }
  }
  if (options.sarif) process.stdout.write(`${JSON.stringify(toSarif(seen, cwd), null, 2)}\n`)
  const totals = totalsOf(done, paths.length)
  if (done.length === 0) tellEnd(session, options, totals)
  return exitCodeOf(totals, options)
}

interface Settling {
  readonly options: CodeOptions
  readonly files: readonly MigratedFile[]
  /** What has ended so far. */
  readonly done: Ended[]
}

/** Writes and tells every file. */
async function settle(session: Session, { options, files, done }: Settling): Promise<void> {
  const telling = { written: Boolean(options.write), advised: new Set<string>() }
  for (const [at, file] of files.entries()) {
    await breathe(session, at, files.length)
    const ended: Ended = telling.written ? { ...file, ...written(file) } : file
    if (!options.sarif) tellFile(session.out, ended, telling)
    done.push(ended)
  }
}

/** Why a file was not written; nothing where it was, or needed no writing. */
function written({ edits, path, input, output }: MigratedFile): Pick<Ended, 'left'> {
  if (edits.length === 0) return {}
  try {
    const isSame = replaceWhole(path, { before: input, after: output })
    return isSame ? {} : { left: 'was saved by somebody else meanwhile, and is left as it is' }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'FAILED'
    return { left: `cannot be written (${code})` }
  }
}

function tellEnd({ out, signal }: Session, options: CodeOptions, totals: Totals): void {
  if (options.sarif) return
  tellTotals(out, totals, { written: Boolean(options.write), interrupted: signal.aborted })
}

/** Lets Ctrl-C in between two files, so that it finds each of them whole. */
async function breathe({ signal, out }: Session, at: number, all: number): Promise<void> {
  if (at % 20 !== 0) return
  out.progress(`${at}/${all} files`)
  await new Promise<void>((resolve) => setImmediate(resolve))
  signal.throwIfAborted()
}

function refuseDirty(paths: readonly string[], changing: readonly string[]): void {
  const dirty = dirtyRepositories(paths, changing)
  if (dirty.length === 0) return
  throw new CliError(
    'TREE_DIRTY',
    `not everything is committed in ${dirty.join(', ')}, and a rename would mix with it: commit or stash first, or give --force`,
  )
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
