import { defineConfig } from 'tsup'

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
  // Side by side, for the store starts the writer's thread from the file beside its own.
  inbox: 'src/inbox/index.ts',
  'inbox-sqlite': 'src/inbox/stores/sqlite.ts',
}

export default defineConfig({
  entry: {
    ...doors,
    'hmac/node': 'src/hmac/node.ts',
    'hmac/web': 'src/hmac/web.ts',
    'sqlite-writer': 'src/inbox/stores/sqlite-writer.ts',
  },
  format: 'esm',
  target: 'es2023',
  platform: 'neutral',
  external: [/^node:/, '#hmac'],
  // Deno and workers know Node's modules by their full names alone.
  removeNodeProtocol: false,
  splitting: true,
  treeshake: true,
  clean: true,
  // The files behind the import condition have no types of their own to give.
  dts: { entry: doors, resolve: ['@standard-schema/spec'] },
})
