// The bytes of every door: bundled with what it imports, minified, and compressed as a server would.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/** Kilobytes by door, compressed by gzip. */
export type Sizes = Readonly<Record<string, number>>

/** Optional peers and what a user has installed anyway. */
const external = ['express', 'fastify', 'next', '@nestjs/*', '@opentelemetry/api']

/** Measures the built package in `root`. */
export async function sizeReport(root: string): Promise<Sizes> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { import?: { default: string } }>
  }
  const sizes: Record<string, number> = {}
  for (const [door, { import: found }] of Object.entries(exports)) {
    if (!found) continue
    const { outputFiles } = await build({
      entryPoints: [join(root, found.default)],
      bundle: true,
      minify: true,
      write: false,
      format: 'esm',
      platform: 'node',
      external,
      logLevel: 'error',
      // Beside each other, as they are loaded: what is imported later does not count.
      splitting: true,
      outdir: 'out',
    })
    const [entry] = outputFiles.filter(({ path }) => !/chunk-|-[A-Z0-9]{8}\.js$/.test(path))
    const loaded = outputFiles.filter(
      ({ path }) => path === entry?.path || isLoadedBy(entry?.text ?? '', path),
    )
    const bytes = loaded.reduce((sum, { contents }) => sum + gzipSync(contents).length, 0)
    sizes[door.replace(/^\./, 'idv-webhooks')] = Math.round(bytes / 102.4) / 10
  }
  return sizes
}

/** Whether an entry imports a chunk statically. */
function isLoadedBy(entry: string, path: string): boolean {
  const name = path.split('/').at(-1) ?? ''
  return new RegExp(`(?:from|import)"\\./${name.replaceAll('.', '\\.')}"`).test(entry)
}
