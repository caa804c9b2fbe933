// One run at a time on a journal: a second one would create everything twice. A lock whose process
// is gone is nobody's.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { CliError, exitCodes } from '../../exit-code.ts'

/**
 * Locks a journal until what is given has ended.
 *
 * @throws CliError `JOURNAL_LOCKED` while another run has it
 */
export async function withLock<Result>(
  journal: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const file = `${journal}.lock`
  const own = `${process.pid} ${hostname()}\n`
  take(file, own)
  const release = () => {
    if (holderOf(file) === own) rmSync(file, { force: true })
  }
  // A second Ctrl-C ends the process in the middle.
  process.once('exit', release)
  try {
    return await run()
  } finally {
    process.removeListener('exit', release)
    release()
  }
}

function take(file: string, own: string): void {
  for (const isLast of [false, true]) {
    try {
      writeFileSync(file, own, { flag: 'wx' })
      return
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
    const holder = holderOf(file)
    if (isLast || isAlive(holder)) throw locked(file, holder)
    rmSync(file, { force: true })
  }
}

function holderOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

/** Of a process on another machine nothing can be known, so it counts as alive. */
function isAlive(holder: string | undefined): boolean {
  if (holder === undefined) return false
  const [pid, host] = holder.trim().split(' ')
  if (host !== hostname() || !/^\d+$/.test(pid ?? '')) return true
  try {
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function locked(file: string, holder: string | undefined): CliError {
  const who = holder?.trim().replace(' ', ' on ') ?? 'unknown'
  return new CliError(
    'JOURNAL_LOCKED',
    `another run works with this journal (process ${who}): wait for its end; if it is gone, remove ${file}`,
    exitCodes.failed,
  )
}
