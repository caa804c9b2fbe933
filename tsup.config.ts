import { readFileSync } from 'node:fs'
import { defineConfig } from 'tsup'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

/** Every key is a door of package.json. */
const doors = {
  index: 'src/index.ts',
  express: 'adapters/express.ts',
  fastify: 'adapters/fastify.ts',
  next: 'adapters/next.ts',
  fetch: 'adapters/fetch.ts',
  node: 'adapters/node.ts',
  protocol: 'src/protocol/index.ts',
  testing: 'src/testing/index.ts',
}

export default defineConfig({
  entry: {
    ...doors,
    cli: 'src/cli/bin.ts',
    'hmac/node': 'src/hmac/node.ts',
    'hmac/web': 'src/hmac/web.ts',
  },
  format: 'esm',
  target: 'es2023',
  platform: 'neutral',
  external: [/^node:/, '#hmac'],
  // Deno and workers know Node's modules by their full names alone.
  removeNodeProtocol: false,
  define: { __VERSION__: JSON.stringify(version) },
  splitting: true,
  treeshake: true,
  clean: true,
  // The files behind the import condition have no types of their own to give.
  dts: { entry: doors, resolve: ['@standard-schema/spec'] },
})
