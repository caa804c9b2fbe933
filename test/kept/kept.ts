// Runs the measurement of what a handled delivery keeps in a process of its own.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface Kept {
  readonly adapter: string
  readonly inbox: boolean
  /** Bytes of heap for each delivery, after collection. */
  readonly bytes: number
}

/**
 * The bytes that `count` deliveries hold through each adapter; `all` measures each of them with an
 * inbox too.
 */
export async function measureKept(count: number, extent: 'short' | 'all'): Promise<Kept[]> {
  const file = (name: string) => join(import.meta.dirname, name)
  const options = ['--expose-gc', '--import', file('from-source.ts')]
  const run = [...options, file('measure.ts'), String(count), extent]
  const { stdout } = await promisify(execFile)(process.execPath, run)
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Kept)
}
