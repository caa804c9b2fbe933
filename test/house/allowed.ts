import { join } from 'node:path'
import { expect } from 'vitest'

/**
 * Compares what a check found with the list of what still stands in `allowed/`: a new place fails,
 * and so does an entry whose place was mended.
 */
export async function expectAllowed(name: string, found: readonly string[]): Promise<void> {
  const list = join(import.meta.dirname, 'allowed', `${name}.txt`)
  await expect([...found, ''].join('\n')).toMatchFileSnapshot(list)
}
