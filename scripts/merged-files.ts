// What `import 'idv-webhooks'` loads, in two files: each file costs about 0.4 ms of a cold import, and
// esbuild alone makes thirty of them, one for each set of import paths that share modules.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { build, type Plugin } from 'esbuild'
import { diagnosisByCondition } from './shared-files.ts'

/** Left to esbuild: schemas, which a bundle without a parser drops as a whole, and entries. */
const apart = /^(src\/(index|protocol\/(resources|events)|signature\/hmac\/\w+)\.ts|node_modules\/)/

/** Entries that are built into folders. */
const inFolder = /[\\/](diagnose|hmac[\\/](node|web))\.ts$/

/** The modules that an entry reaches. */
async function reachOf(entry: string): Promise<string[]> {
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    external: ['#hmac'],
    plugins: [diagnosisByCondition],
    logLevel: 'error',
  })
  return Object.keys(metafile.inputs).filter((file) => !apart.test(file))
}

export interface MergedFiles {
  /** Entries of the build, by the file that they become. */
  readonly entries: Readonly<Record<string, string>>
  readonly plugin: Plugin
}

/**
 * `base` is what the client and the schemas need too, `core` the rest of a receiver. `addresses`
 * holds a CommonJS package, which a bundle drops as a whole alone.
 */
export async function mergedFiles(): Promise<MergedFiles> {
  const receiver = await reachOf('src/index.ts')
  const others = [
    ...(await reachOf('src/client/index.ts')),
    ...(await reachOf('src/protocol/index.ts')),
  ]
  const nameOf = (file: string) => {
    if (file === 'src/signature/addresses.ts') return 'addresses'
    return others.includes(file) ? 'base' : 'core'
  }
  const fileOf = new Map(receiver.map((file) => [resolve(file), nameOf(file)]))
  const folder = mkdtempSync(join(tmpdir(), 'idv-webhooks-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const entries: Record<string, string> = {}
  for (const name of ['base', 'core', 'addresses']) {
    const mine = [...fileOf].flatMap(([file, of]) => (of === name ? file : []))
    entries[name] = join(folder, `${name}.ts`)
    writeFileSync(
      entries[name],
      mine.map((file) => `export * from ${JSON.stringify(file)}\n`).join(''),
    )
  }
  return {
    entries,
    plugin: outside(
      fileOf,
      Object.values(entries).map((file) => resolve(file)),
    ),
  }
}

/** Imports of a merged file's modules from elsewhere are imports of that file. */
function outside(fileOf: ReadonlyMap<string, string>, entries: readonly string[]): Plugin {
  return {
    name: 'merged-files',
    setup({ initialOptions, onResolve }) {
      const ending = initialOptions.outExtension?.['.js'] ?? '.js'
      onResolve({ filter: /^\.\.?\// }, ({ path, resolveDir, importer }) => {
        const file = fileOf.get(resolve(resolveDir, path))
        if (!file || entries.includes(importer) || fileOf.get(importer) === file) return undefined
        const folder = inFolder.test(importer) ? '..' : '.'
        return { path: `${folder}/${file}${ending}`, external: true, sideEffects: false }
      })
    },
  }
}
