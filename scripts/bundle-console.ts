// Bundles the console's front end into one script and one style sheet. The build puts both in the
// place of tools/console/assets.ts, which bundles on demand when run from source.

import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

export interface ConsoleBundle {
  readonly script: string
  readonly style: string
  /** Packages whose code is in the script. */
  readonly packages: readonly string[]
}

const pages = fileURLToPath(new URL('../tools/console/pages', import.meta.url))

/** Builds the front end; one script, one style sheet, nothing that is loaded from elsewhere. */
export async function bundleConsole(): Promise<ConsoleBundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: { script: `${pages}/main.tsx`, style: `${pages}/styles/main.css` },
    outdir: 'console',
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome120', 'firefox120', 'safari17'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'error',
  })
  const textOf = (name: string) => outputFiles.find(({ path }) => path.endsWith(name))?.text ?? ''
  const packages = Object.keys(metafile.inputs).flatMap((path) => {
    const found = /^(?:.*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)
    return found?.[1] === undefined ? [] : [found[1]]
  })
  return {
    script: textOf('script.js'),
    style: textOf('style.css'),
    packages: [...new Set(packages)],
  }
}
