// The locks that this process holds on the files of an inbox. They end as soon as it closes one of
// the files, however it came to open it (section 2.2 of sqlite.org/howtocorrupt.html): a copy or an
// upload made by the application is enough. Whoever opens the inbox then would damage it.
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { lostFile } from './lost-file.ts'

// Only Linux shows them; Deno would ask its user whether that may be read.
const canLook = process.platform === 'linux' && !('Deno' in globalThis)
const own = '/proc/self'

/** The locks as they were found at its creation: what was not seen then is not missed later. */
export class OwnLocks {
  /** The descriptor by which each file is locked. */
  readonly #holders = new Map<string, string>()

  constructor(files: readonly string[]) {
    for (const file of files) {
      const { holder } = lookFor(file)
      if (holder !== undefined) this.#holders.set(file, holder)
    }
  }

  /** The first of the files that is certainly not locked any more, for the operator. */
  lost(): string | undefined {
    for (const [file, descriptor] of this.#holders) {
      if (lookAt(descriptor, file) !== 'other') continue
      // A connection that closed may have left its lock to another.
      const { holder, isWhole } = lookFor(file)
      if (holder !== undefined) this.#holders.set(file, holder)
      else if (isWhole) return movedAway(descriptor, file) ?? locksLost(file)
    }
    return undefined
  }
}

interface Found {
  readonly holder?: string
  /** Whether every descriptor could be looked at. */
  readonly isWhole: boolean
}

function lookFor(file: string): Found {
  if (!canLook) return { isWhole: false }
  try {
    const looks = readdirSync(`${own}/fd`).map((one) => [one, lookAt(one, file)] as const)
    const holder = looks.find(([, look]) => look === 'holder')?.[0]
    const isWhole = looks.every(([, look]) => look !== 'unknown')
    return { isWhole, ...(holder !== undefined && { holder }) }
  } catch {
    // No right to look, or no descriptor free for it.
    return { isWhole: false }
  }
}

function lookAt(descriptor: string, file: string): 'holder' | 'other' | 'unknown' {
  try {
    return placeOf(descriptor) === file && hasLock(descriptor) ? 'holder' : 'other'
  } catch (error) {
    // Closed since it was listed; any other error says nothing.
    const isClosed = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return isClosed ? 'other' : 'unknown'
  }
}

const placeOf = (descriptor: string) => readlinkSync(`${own}/fd/${descriptor}`)

const hasLock = (descriptor: string) =>
  /^lock:/m.test(readFileSync(`${own}/fdinfo/${descriptor}`, 'latin1'))

/** A file that is open still, and locked, but not in its place: no lock of it was dropped. */
function movedAway(descriptor: string, file: string): string | undefined {
  try {
    if (placeOf(descriptor) === file || !hasLock(descriptor)) return undefined
  } catch {
    return undefined
  }
  return lostFile(file, existsSync(file) ? 'was replaced by another file' : 'was deleted')
}

function locksLost(file: string): string {
  return `the lock of ${file} is gone: something in this process has opened and closed the file, such as a copy or an upload of it. Restart the application; copy an inbox by \`.backup\`, in another process`
}
