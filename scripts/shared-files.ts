// Files of the package that several builds load on demand, written once and beside them: the
// console's front end and the mailer. They are CommonJS, which both formats can load.
import { mkdirSync, writeFileSync } from 'node:fs'
import { build, type Plugin } from 'esbuild'
import type { ConsoleBundle } from './bundle-console.ts'

const assets = 'console-assets.cjs'
const mailer = 'mailer.cjs'

/** Writes the files; `notices` lists the packages that are in them. */
export async function writeSharedFiles(bundle: ConsoleBundle, notices: Plugin): Promise<void> {
  mkdirSync('dist', { recursive: true })
  const text = JSON.stringify({ script: bundle.script, style: bundle.style })
  writeFileSync(`dist/${assets}`, `exports.loadAssets = async () => (${text})\n`)
  await build({
    stdin: { contents: "export { createTransport } from 'nodemailer'", resolveDir: '.' },
    outfile: `dist/${mailer}`,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'es2023',
    minify: true,
    legalComments: 'none',
    logLevel: 'error',
    plugins: [notices],
  })
}

/** A plugin of the build: leaves these files out of every bundle that loads them. */
export const sharedFiles: Plugin = {
  name: 'shared-files',
  setup({ onResolve }) {
    const outside = (file: string) => () => ({ path: `./${file}`, external: true })
    onResolve({ filter: /^\.\/assets\.ts$/ }, outside(assets))
    onResolve({ filter: /^nodemailer$/ }, outside(mailer))
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
