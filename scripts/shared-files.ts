// The files that bundles of the package load on demand: the console's front end, the diagnosis of
// refusals, the stores.
import { mkdirSync, writeFileSync } from 'node:fs'
import type { Plugin } from 'esbuild'
import type { ConsoleBundle } from './bundle-console.ts'

const assets = 'console-assets.cjs'

/** Writes the files that several builds share. They are CommonJS, which both formats can load. */
export function writeSharedFiles(bundle: ConsoleBundle): void {
  mkdirSync('dist/diagnosis', { recursive: true })
  const text = JSON.stringify({ script: bundle.script, style: bundle.style })
  writeFileSync(`dist/${assets}`, `exports.loadAssets = async () => (${text})\n`)
  writeFileSync('dist/diagnosis/none.cjs', 'exports.diagnose = async () => undefined\n')
  writeFileSync('dist/diagnosis/none.js', 'export const diagnose = async () => undefined\n')
}

/** A plugin of the build: leaves these files out of every bundle that loads them. */
export const sharedFiles: Plugin = {
  name: 'shared-files',
  setup({ onResolve }) {
    const outside = (file: string) => () => ({ path: `./${file}`, external: true })
    onResolve({ filter: /^\.\/assets\.ts$/ }, outside(assets))
  },
}

/**
 * A plugin of the build: the import conditions of package.json choose the diagnosis, since bundlers
 * for workers would inline what is loaded on demand.
 */
export const diagnosisByCondition: Plugin = {
  name: 'diagnosis-by-condition',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/diagnose\.ts$/ }, () => ({ path: '#diagnosis', external: true }))
  },
}

/** A plugin of the command line's build: it opens stores by their import paths, as users do. */
export const storesByImportPath: Plugin = {
  name: 'stores-by-import-path',
  setup({ onResolve }) {
    onResolve({ filter: /\/stores\/\w+\/(sqlite|postgres)\.ts$/ }, ({ path, importer }) => {
      const isTool = /[\\/]tools[\\/]/.test(importer)
      return isTool ? { path: `./inbox-${path.split('/').at(-2)}.js`, external: true } : undefined
    })
  },
}
