// The faults are tried on what users get, so there must be a build, and of these sources.
import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

function newest(folder: string): number {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  return Math.max(0, ...files.map((file) => statSync(join(root, folder, file)).mtimeMs))
}

export function setup(): void {
  let built = 0
  try {
    built = newest('dist')
  } catch {}
  if (built < newest('src')) throw new Error('dist is older than src: run npm run build first')
}
