// A second SQLite library in this process that has the file of an inbox open. The locks of a file
// belong to the process: neither library sees those of the other, the first that closes drops them
// all, and the file is damaged (section 2.2.1 of sqlite.org/howtocorrupt.html).
import { readFile } from 'node:fs/promises'

/**
 * Whether two libraries have it open. Each maps the index of the log once, for all of its
 * connections and threads; only Linux shows what is mapped.
 */
export async function hasSecondLibrary(path: string): Promise<boolean> {
  // Deno would ask its user whether this may be read.
  if (process.platform !== 'linux' || 'Deno' in globalThis) return false
  try {
    const maps = await readFile('/proc/self/maps', 'utf8')
    const first = maps.split('\n').filter((line) => isStart(line, `${path}-shm`))
    return first.length > 1
  } catch {
    return false
  }
}

/** Of a line of address, rights, offset, device, inode and path. */
function isStart(line: string, index: string): boolean {
  return line.endsWith(` ${index}`) && /^\S+ \S+ 0+ /.test(line)
}
