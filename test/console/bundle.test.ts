import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Readonly<Record<string, unknown>>
}
const config = readFileSync(join(root, 'tsup.config.ts'), 'utf8')

/** The source of each door, as the build names it. */
const doors = Object.keys(exports)
  .filter((door) => door !== './package.json')
  .map((door) => {
    const name = { '.': 'index', './cli': 'cli-records' }[door] ?? door.slice(2).replace('/', '-')
    const source =
      name === 'keys'
        ? 'src/signature/keys.ts'
        : (new RegExp(`\\n  '?${name}'?: '([^']+)'`).exec(config)?.[1] ?? '')
    return [door, source] as const
  })

/** The modules that an import loads at once, and those that it loads on demand. */
async function imports(source: string) {
  const { metafile } = await build({
    entryPoints: [join(root, source)],
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    outdir: 'out',
    packages: 'external',
    external: ['#hmac', '*/scripts/bundle-console.ts'],
    logLevel: 'error',
  })
  const atOnce = new Set<string>()
  const walk = (file: string) => {
    if (atOnce.has(file)) return
    atOnce.add(file)
    for (const { path, kind } of metafile.inputs[file]?.imports ?? []) {
      if (kind === 'import-statement') walk(path)
    }
  }
  walk(source)
  return { atOnce: [...atOnce], ever: Object.keys(metafile.inputs) }
}

describe('the console', () => {
  const own = /^\.\/(console|sandbox)$/

  test.each(doors.filter(([door]) => !own.test(door)))('adds nothing to %s', async (_, source) => {
    const { ever } = await imports(source)
    expect(ever).toContain(source)
    expect(ever.filter((path) => path.startsWith('tools/console/'))).toEqual([])
  })

  test.each(doors.filter(([door]) => own.test(door)))(
    'loads its pages in %s only when one is asked for',
    async (_, source) => {
      const { atOnce, ever } = await imports(source)
      expect(atOnce).toContain('tools/console/page.ts')
      expect(ever).toContain('tools/console/assets.ts')
      expect(atOnce).not.toContain('tools/console/assets.ts')
      expect(ever.filter((path) => path.startsWith('tools/console/pages/'))).toEqual([])
    },
  )
})
