// Builds the targets with counters, loads them, and fuzzes one from its kept corpus.

import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Instrumented, instrumented } from './coverage.ts'
import { type FuzzReport, fuzz } from './fuzzer.ts'
import type { FuzzTarget } from './targets.ts'

const here = import.meta.dirname
const root = resolve(here, '../..')
const source = (path: string) => join(root, 'src', path)

export interface Session {
  readonly targets: Readonly<Record<string, FuzzTarget>>
  readonly counts: Uint8Array
  readonly dictionary: readonly string[]
}

/** The targets with the package's own code, counted, in a file below node_modules. */
export async function openSession(): Promise<Session> {
  const built: Instrumented = await instrumented(join(here, 'targets.ts'), {
    '#hmac': source('signature/hmac/node.ts'),
    'idv-webhooks/sandbox': join(root, 'tools/sandbox/index.ts'),
    'idv-webhooks/testing': source('testing/index.ts'),
    'idv-webhooks': source('index.ts'),
  })
  const folder = join(root, 'node_modules/.cache/idv-fuzz')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `targets-${process.pid}.mjs`)
  writeFileSync(file, built.code)
  const counts = new Uint8Array(Math.ceil(built.counters / 4) * 4)
  Object.assign(globalThis, { __counts: counts })
  const { targets } = await import(pathToFileURL(file).href)
  return { targets, counts, dictionary: built.dictionary }
}

function folderOf(name: string): string {
  return join(here, 'corpus', name)
}

export function keptCorpus(name: string): Uint8Array[] {
  try {
    return readdirSync(folderOf(name)).map((file) => readFileSync(join(folderOf(name), file)))
  } catch {
    return []
  }
}

/** Keeps the shortest inputs of a corpus, each under its own hash. */
export function keepCorpus(name: string, corpus: readonly Uint8Array[], most = 150): void {
  mkdirSync(folderOf(name), { recursive: true })
  const shortest = [...corpus].sort((one, two) => one.length - two.length).slice(0, most)
  for (const input of shortest) {
    const hash = createHash('sha256').update(input).digest('hex').slice(0, 16)
    writeFileSync(join(folderOf(name), hash), input)
  }
}

export interface Bounds {
  readonly runs: number
  readonly most: number
  readonly seed?: number
}

export function fuzzTarget(session: Session, name: string, bounds: Bounds): Promise<FuzzReport> {
  const target = session.targets[name]
  if (!target) throw new Error(`no target '${name}': ${Object.keys(session.targets).join(', ')}`)
  const seeds = [...target.seeds.map((seed) => new TextEncoder().encode(seed)), ...keptCorpus(name)]
  return fuzz(target.run, { ...session, ...bounds, seeds })
}
