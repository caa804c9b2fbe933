// The locks that this process holds on the files of an inbox. They end as soon as it closes one of
// the files, however it came to open it (section 2.2 of sqlite.org/howtocorrupt.html): a copy or an
// upload made by the application is enough. Whoever opens the inbox then would damage it.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

// Only Linux shows them; Deno would ask its user whether that may be read.
const canLook = process.platform === 'linux' && !('Deno' in globalThis)
const own = '/proc/self'

/** The locks as they were found at its creation: what was not seen then is not missed later. */
export class OwnLocks {
  /** The descriptor by which each file is locked. */
  readonly #holders: Map<string, string>

  constructor(path: string) {
    this.#holders = holdersOf([path, `${path}-shm`, `${path}-owner`])
  }

  /** The first of the files that is not locked any more, for the operator. */
  lost(): string | undefined {
    for (const [file, descriptor] of this.#holders) {
      if (isHolder(descriptor, file)) continue
      // A connection that closed may have left its lock to another.
      const next = holdersOf([file]).get(file)
      if (next === undefined) return locksLost(file)
      this.#holders.set(file, next)
    }
    return undefined
  }
}

function holdersOf(files: readonly string[]): Map<string, string> {
  const found = new Map<string, string>()
  if (!canLook) return found
  try {
    for (const descriptor of readdirSync(`${own}/fd`)) {
      const file = files.find((one) => isHolder(descriptor, one))
      if (file !== undefined) found.set(file, descriptor)
    }
  } catch {
    // The rights of this process may not reach so far.
  }
  return found
}

function isHolder(descriptor: string, file: string): boolean {
  try {
    if (readlinkSync(`${own}/fd/${descriptor}`) !== file) return false
    return /^lock:/m.test(readFileSync(`${own}/fdinfo/${descriptor}`, 'latin1'))
  } catch {
    // Closed since it was listed.
    return false
  }
}

function locksLost(file: string): string {
  return `the lock of ${file} is gone: something in this process has opened and closed the file, such as a copy or an upload of it. Restart the application; copy an inbox by \`.backup\`, in another process`
}
