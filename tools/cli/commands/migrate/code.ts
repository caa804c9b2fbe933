// migrate code: renames exact legacy names in sources, and lists every other place that has one.
import { execFileSync } from 'node:child_process'
import { lstatSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { CliError, exitCodes, usageError } from '../../exit-code.ts'
import { statOf } from '../../files.ts'
import {
  type Finding,
  isCode,
  mayHaveLegacyName,
  type RewrittenSource,
  rewriteSource,
} from '../../migrate/rewrite.ts'
import { count, printable } from '../../output.ts'
import { act, declare, type Session } from '../../session.ts'

interface CodeOptions {
  readonly write?: boolean
  readonly check?: boolean
  readonly force?: boolean
}

export const migrateCode = (session: Session) =>
  declare('code', {
    summary: 'rename legacy event names in source files',
    details: [
      'Renames literals that are exactly a legacy name (strings, object keys, case labels, types) in JavaScript and TypeScript. Every other byte stays unchanged. Legacy names in every other file, and inside longer texts, are listed with their place. Names that are built at run time are not found.',
      'Deploy the receiver of this package first: it accepts both names. A file that verifies deliveries by itself is listed and stays unchanged, because after a rename it would miss events that arrive under a legacy name.',
      'A comment idv-webhooks-ignore excludes its line and the next one, idv-webhooks-ignore-file the whole file.',
      'Without --write it changes nothing. Exits 0, or 1 for a name that must be renamed manually or a file that was not written, or 2 for a file that cannot be parsed. --check also exits 1 if there is anything to rename.',
    ],
    examples: ['migrate code src test --write', 'migrate code src --check'],
  })
    .argument('[paths...]', 'files and folders (default: the current folder)')
    .option('--write', 'change the files')
    .option('--check', 'change nothing; set the exit code')
    .option('--force', 'with --write: allow uncommitted changes')
    .action(act(session, run))

async function run(session: Session, options: CodeOptions, given: readonly string[]) {
  if (options.write && options.check) {
    throw usageError('use --write or --check, not both')
  }
  const { cwd, out, signal } = session
  const paths = sourceFiles(cwd, given.length === 0 ? ['.'] : given)
  const totals = { changed: 0, names: 0, findings: 0, errors: 0, left: 0 }
  let manual = 0
  for (const [at, path] of paths.entries()) {
    if (at % 20 === 0) {
      out.progress(`${at}/${paths.length} files`)
      // Ctrl-C takes effect between two files.
      await new Promise<void>((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
    }
    const file = relative(cwd, path)
    const { rewritten, error } = read(path)
    if (error) {
      totals.errors += 1
      out.record({ type: 'unreadable', file, message: error })
      out.say(`${printable(file)}: ${out.tint('red', 'error')} ${printable(error)}`)
    }
    if (!rewritten) continue
    const { findings, edits } = rewritten
    totals.findings += findings.length
    manual += findings.filter(({ kind }) => kind === 'both').length
    if (edits.length > 0) {
      if (change(session, options, { path, file, rewritten })) {
        totals.changed += 1
        totals.names += edits.length
      } else totals.left += 1
    }
    for (const finding of findings) showFinding(session, file, finding)
  }
  out.record({ type: 'summary', ...totals, written: Boolean(options.write) })
  out.say(
    `${options.write ? 'changed' : 'would change'} ${count(totals.changed, 'file')} (${count(totals.names, 'name')}) · ${count(totals.findings, 'place')} to check · ${count(totals.errors, 'error')}`,
  )
  if (totals.errors > 0) return exitCodes.usage
  const isToDo = options.check && totals.changed > 0
  return manual + totals.left > 0 || isToDo ? exitCodes.failed : exitCodes.ok
}

/** Larger files are data or generated, not something that a person maintains. */
const maxBytes = 2 * 1024 * 1024

interface ReadFile {
  /** Missing if it has no legacy name. */
  readonly rewritten?: RewrittenSource
  readonly error?: string
}

function read(path: string): ReadFile {
  try {
    const bytes = readFileSync(path)
    if (bytes.length > maxBytes || !mayHaveLegacyName(bytes.toString('latin1'))) return {}
    if (!isCode(path) && bytes.includes(0)) return {}
    // A byte order mark stays part of the text, so that it is written back.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return { rewritten: rewriteSource(text, path) }
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    return { error: /^E[A-Z]+$/.test(code ?? '') ? `cannot be read (${code})` : message }
  }
}

interface Change {
  readonly path: string
  readonly file: string
  readonly rewritten: RewrittenSource
}

/** Shows or writes the edits of a file; false if it was left unchanged. */
function change(
  { out }: Session,
  { write = false, force }: CodeOptions,
  { path, file, rewritten }: Change,
): boolean {
  const { edits, output } = rewritten
  if (write && !force && hasUncommittedChanges(path)) {
    const message = 'has uncommitted changes, or git does not know it: commit it, or pass --force'
    out.record({ type: 'left', file, message })
    out.say(`${printable(file)}: ${out.tint('red', 'not changed')}: it ${message}`)
    return false
  }
  // The file is written in place: it keeps its owner and mode, and git has the old content.
  if (write) writeFileSync(path, output)
  out.record({ type: 'file', file, edits, written: write })
  if (write) out.data(`${printable(file)}: ${count(edits.length, 'name')} renamed`)
  else {
    for (const { line, column, from, to } of edits) {
      out.data(`${printable(file)}:${line}:${column}: ${from} → ${to}`)
    }
  }
  return true
}

const advice = {
  both: 'its current name is in this file too: merge the two',
  received: 'stays while deliveries arrive under it',
  receiver:
    'this file verifies deliveries itself and would miss legacy names: use createReceiver()',
  mention: 'rename it if a program reads it or people see it',
} as const

function showFinding({ out }: Session, file: string, finding: Finding): void {
  const { kind, line, column, name } = finding
  out.record({ type: 'finding', file, ...finding })
  out.say(
    `${printable(file)}:${line}:${column}: ${out.tint('yellow', name)} not renamed: ${advice[kind]}`,
  )
}

/** Generated, large, and without event names. */
const lockFile = /^(package-lock|npm-shrinkwrap)\.json$|^pnpm-lock\.yaml$|\.lockb?$/

function sourceFiles(cwd: string, paths: readonly string[]): readonly string[] {
  const files = paths.flatMap((path) => {
    const full = resolve(cwd, path)
    const found = statOf(full)
    if (!found) throw new CliError('FILE_MISSING', `${path} does not exist: check the path`)
    if (found.isDirectory()) return inFolder(realpathSync(full))
    // Reading a pipe could last for ever.
    if (!found.isFile()) throw usageError(`${path} is a pipe or a device, not a file`)
    return [realpathSync(full)]
  })
  return [...new Set(files)]
}

/** All files of a folder that git ignores or does not know. */
function inFolder(folder: string): readonly string[] {
  const listed = git(folder, 'ls-files', '-z', '--cached', '--others', '--exclude-standard')
  const names = listed ? listed.split('\0').filter(Boolean) : readdirSync(folder)
  return names.sort().flatMap((name) => {
    const path = join(folder, name)
    const isSkipped = name.split('/').includes('node_modules') || name === '.git'
    if (isSkipped || lockFile.test(basename(name))) return []
    // Links are not followed: their targets are found at their own place.
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.isDirectory()) return inFolder(path)
    return found?.isFile() ? [path] : []
  })
}

/** True if git could not show or undo a change of the file. */
function hasUncommittedChanges(path: string): boolean {
  const status = git(dirname(path), 'status', '--porcelain', '--ignored', '--', basename(path))
  return Boolean(status)
}

/** The answer of git in a folder; undefined if it fails. */
function git(folder: string, ...args: readonly string[]): string | undefined {
  // A git hook's environment names the hook's own repository.
  const foreign = Object.keys(process.env).filter((name) => name.startsWith('GIT_'))
  const unset = Object.fromEntries(foreign.map((name) => [name, undefined]))
  try {
    // A repository can name a program that watches its files.
    return execFileSync('git', ['-c', 'core.fsmonitor=false', ...args], {
      cwd: folder,
      env: { ...process.env, ...unset },
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: Number.POSITIVE_INFINITY,
    })
  } catch {
    return undefined
  }
}
