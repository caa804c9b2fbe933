// Bundles the console's front end into one script and one style sheet, and embeds both in the
// package: the build replaces tools/console/assets.ts, which bundles on demand when run from source.

import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

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

/** A plugin of the build: puts the bundled front end in the place of assets.ts. */
export function embedConsole({ script, style }: ConsoleBundle): Plugin {
  const text = `export const loadAssets = async () => (${JSON.stringify({ script, style })})`
  return {
    name: 'embed-console',
    setup(building) {
      building.onLoad({ filter: /[\\/]tools[\\/]console[\\/]assets\.ts$/ }, () => ({
        contents: text,
        loader: 'js',
      }))
    },
  }
}
