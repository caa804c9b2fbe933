import { readFileSync } from 'node:fs'
import { defineConfig, type Options } from 'tsup'
import { bundleConsole } from './scripts/bundle-console.ts'
import { bundleWriter, embedWriter } from './scripts/bundle-writer.ts'
import { lazyRequire } from './scripts/lazy-require.ts'
import { mergedFiles } from './scripts/merged-files.ts'
import { peerHints } from './scripts/peer-hints.ts'
import {
  diagnosisByCondition,
  sharedFiles,
  storesByImportPath,
  writeSharedFiles,
} from './scripts/shared-files.ts'
import { thirdPartyNotices } from './scripts/third-party-notices.ts'
import { readSchema } from './src/inbox/stores/postgres/migrations.ts'

const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

/** Doors that run everywhere and bundle nothing; every key here and below is one of package.json's. */
const doors = {
  index: 'src/index.ts',
  express: 'adapters/express.ts',
  fastify: 'adapters/fastify.ts',
  next: 'adapters/next.ts',
  fetch: 'adapters/fetch.ts',
  node: 'adapters/node.ts',
  lambda: 'adapters/lambda.ts',
  nest: 'adapters/nest.ts',
  protocol: 'src/protocol/index.ts',
  vendors: 'src/vendors/index.ts',
  client: 'src/client/index.ts',
  testing: 'src/testing/index.ts',
  conformance: 'tools/conformance/index.ts',
  opentelemetry: 'src/observe/opentelemetry/index.ts',
  console: 'tools/console/index.ts',
  inbox: 'src/inbox/index.ts',
  'inbox-sqlite': 'src/inbox/stores/sqlite/sqlite.ts',
  'inbox-postgres': 'src/inbox/stores/postgres/postgres.ts',
  // Types for programs that read --json; dist/cli.js is the command itself.
  'cli-records': 'tools/cli/index.ts',
}

/** Files that are loaded by their place beside a door. */
const besides = {
  'hmac/node': 'src/signature/hmac/node.ts',
  'hmac/web': 'src/signature/hmac/web.ts',
  'diagnosis/full': 'src/signature/diagnose.ts',
}

/** Doors for Node with what they use bundled into them, so that users install nothing extra. */
const tools = {
  sandbox: 'tools/sandbox/index.ts',
}

/** Packages whose types the declarations hold. */
const inlinedTypes = ['@standard-schema/spec']

const bundle = await bundleConsole()
// One for all builds: it names what any of them has bundled.
const notices = thirdPartyNotices([...inlinedTypes, ...bundle.packages])
writeSharedFiles(bundle)

const merged = await mergedFiles()

const define = { __SCHEMA__: JSON.stringify(readSchema()) }

const plugins = [notices, sharedFiles, embedWriter(await bundleWriter())]

const both: Options = {
  define,
  target: 'es2023',
  external: [/^node:/, '#hmac', 'zod'],
  // Deno and workers know Node's modules by their full names alone.
  removeNodeProtocol: false,
  splitting: true,
  treeshake: true,
  esbuildPlugins: plugins,
}

/** Nobody reads or bundles what the tools consist of: half of it is other packages. */
const small: Options = { minify: true }

const keysFile = 'src/signature/keys.ts'

/** The door to jose, which is an ES module alone: Jest cannot load it from CommonJS. */
const keys = (['esm', 'cjs'] as const).map(
  (format): Options => ({
    ...both,
    format,
    entry: { keys: keysFile },
    platform: 'neutral',
    noExternal: format === 'cjs' ? [/^jose/] : [],
  }),
)

export default defineConfig([
  ...keys,
  {
    ...both,
    // Jest, and programs that are CommonJS themselves, cannot load ES modules on every Node.
    format: ['esm', 'cjs'],
    entry: { ...doors, ...besides, ...merged.entries },
    platform: 'neutral',
    esbuildPlugins: [...plugins, diagnosisByCondition, merged.plugin],
    plugins: [
      lazyRequire,
      peerHints({
        '@nestjs/core': '@nestjs/core @nestjs/common',
        '@opentelemetry/api': '@opentelemetry/api',
      }),
    ],
    // What stands beside a door has no types of its own to give.
    dts: { entry: { ...doors, keys: keysFile }, resolve: inlinedTypes },
  },
  {
    ...both,
    ...small,
    format: 'esm',
    entry: { ...tools, cli: 'tools/cli/bin.ts' },
    esbuildPlugins: [...plugins, storesByImportPath],
    platform: 'node',
    define: { ...define, __VERSION__: JSON.stringify(version) },
    // What is bundled from CommonJS asks for Node's modules by require.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'\nconst require = __createRequire(import.meta.url)",
    },
    dts: { entry: tools },
  },
  {
    ...both,
    ...small,
    format: 'cjs',
    entry: tools,
    platform: 'node',
    plugins: [lazyRequire],
    define: { ...define, __VERSION__: JSON.stringify(version) },
    shims: true,
    dts: { entry: tools },
  },
])
