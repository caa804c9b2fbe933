// Bundles the writer's thread of the SQLite store into one text and embeds it in the package: the
// build replaces src/inbox/stores/sqlite/writer-script.ts, which loads the file in the source.

import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

const thread = fileURLToPath(
  new URL('../src/inbox/stores/sqlite/sqlite-writer.ts', import.meta.url),
)

/** The program of the thread: it runs as a script and as a module, on Node, Bun and Deno. */
export async function bundleWriter(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [thread],
    bundle: true,
    write: false,
    format: 'iife',
    platform: 'neutral',
    target: 'es2023',
    external: ['node:*'],
    // Names stay readable in stack traces.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'error',
    // Neither `import` nor `require` is there both in a script and in a module.
    banner: { js: '"use strict";{const require=(id)=>process.getBuiltinModule(id);' },
    footer: { js: '}\n//# sourceURL=idv-webhooks/sqlite-writer.js' },
  })
  return outputFiles[0]?.text ?? ''
}

/** A plugin of the build: puts the bundled thread in the place of writer-script.ts. */
export function embedWriter(text: string): Plugin {
  const contents = `const text = ${JSON.stringify(text)}
export const writerScript = () => text`
  return {
    name: 'embed-writer',
    setup(building) {
      building.onLoad({ filter: /[\\/]sqlite[\\/]writer-script\.ts$/ }, () => ({
        contents,
        loader: 'js',
      }))
    },
  }
}
