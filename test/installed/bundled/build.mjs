// Builds server.mjs with each bundler into a folder of its own; prints the files and what was warned of.
import { dirname, join } from 'node:path'
import commonjs from '@rollup/plugin-commonjs'
import json from '@rollup/plugin-json'
import { nodeResolve } from '@rollup/plugin-node-resolve'
import { build as esbuild } from 'esbuild'
import { rollup } from 'rollup'
import { build as vite } from 'vite'
import webpack from 'webpack'

const root = import.meta.dirname
const entry = join(root, 'server.mjs')
const [, , out] = process.argv
const warned = []

const node = { entryPoints: [entry], bundle: true, platform: 'node', logLevel: 'silent' }

/** Everything is bundled: nothing is left to be found beside the output. */
const builds = {
  'esbuild-esm/server.mjs': (outfile) => esbuild({ ...node, format: 'esm', outfile }),
  'esbuild-cjs/server.cjs': (outfile) => esbuild({ ...node, format: 'cjs', minify: true, outfile }),
  'rollup/server.mjs': async (outfile) => {
    const bundle = await rollup({
      input: entry,
      external: /^node:/,
      plugins: [nodeResolve({ exportConditions: ['node'] }), commonjs(), json()],
      onwarn: ({ id, message }) => {
        if (id?.includes('idv-webhooks')) warned.push(message)
      },
    })
    await bundle.write({ dir: dirname(outfile), entryFileNames: 'server.mjs' })
  },
  'vite/server.mjs': async (outfile) => {
    await vite({
      root,
      configFile: false,
      logLevel: 'silent',
      ssr: { noExternal: true },
      build: {
        ssr: 'server.mjs',
        outDir: dirname(outfile),
        emptyOutDir: true,
        rollupOptions: { output: { entryFileNames: 'server.mjs' } },
      },
    })
  },
  'webpack/server.cjs': async (outfile) => {
    const compiler = webpack({
      mode: 'production',
      target: 'node',
      entry,
      output: { path: dirname(outfile), filename: 'server.cjs' },
    })
    const stats = await new Promise((resolve, reject) => {
      compiler.run((error, done) => (error ? reject(error) : resolve(done)))
    })
    const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true })
    warned.push(...[...errors, ...warnings].map(({ message }) => message))
  },
}

const files = []
for (const [file, build] of Object.entries(builds)) {
  const result = await build(join(out, file))
  warned.push(...(result?.errors ?? []), ...(result?.warnings ?? []))
  files.push(file)
}
console.log(JSON.stringify({ files, warned }))
