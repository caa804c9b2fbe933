import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))

// Tests start the command line some thousand times: Node compiles it once.
process.env.NODE_COMPILE_CACHE ??= here('node_modules/.cache/compile')

/** The doors, served from source, so that tests and examples need no build. */
const doors = {
  'idv-webhooks/express': here('adapters/express.ts'),
  'idv-webhooks/fastify': here('adapters/fastify.ts'),
  'idv-webhooks/next': here('adapters/next.ts'),
  'idv-webhooks/fetch': here('adapters/fetch.ts'),
  'idv-webhooks/node': here('adapters/node.ts'),
  'idv-webhooks/lambda': here('adapters/lambda.ts'),
  'idv-webhooks/nest': here('adapters/nest.ts'),
  'idv-webhooks/protocol': here('src/protocol/index.ts'),
  'idv-webhooks/testing': here('src/testing/index.ts'),
  'idv-webhooks/conformance': here('tools/conformance/index.ts'),
  'idv-webhooks/inbox/sqlite': here('src/inbox/stores/sqlite/sqlite.ts'),
  'idv-webhooks/console': here('tools/console/index.ts'),
  'idv-webhooks/inbox/postgres': here('src/inbox/stores/postgres/postgres.ts'),
  'idv-webhooks/inbox': here('src/inbox/index.ts'),
  'idv-webhooks/opentelemetry': here('src/observe/opentelemetry/index.ts'),
  'idv-webhooks/client': here('src/client/index.ts'),
  'idv-webhooks/cli': here('tools/cli/index.ts'),
  'idv-webhooks/sandbox': here('tools/sandbox/index.ts'),
  'idv-webhooks/vendors': here('src/vendors/index.ts'),
  'idv-webhooks': here('src/index.ts'),
}

/** Compares times, so nothing else may run beside it. */
const measured = 'test/signature/timing.test.ts'
/** A group of its own, after the others, one file at a time. */
const alone = (groupOrder: number) => ({
  sequence: { groupOrder },
  fileParallelism: false,
})

const alias = (hmac: string) => [
  { find: '#hmac', replacement: here(hmac) },
  ...Object.entries(doors).map(([find, replacement]) => ({
    find: new RegExp(`^${find}$`),
    replacement,
  })),
]

export default defineConfig({
  test: {
    testTimeout: 20_000,
    // Tests wait for processes and servers as much as they compute.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      {
        resolve: { alias: alias('src/signature/hmac/node.ts') },
        test: {
          name: 'node',
          include: ['test/**/*.test.ts', 'examples/*.test.ts'],
          exclude: [
            'test/installed/**',
            'test/soak/**',
            'test/{faults,attack,performance}/**',
            'test/cli/built/**',
            'test/console/browser/**',
            'test/inbox/postgres/**',
            measured,
          ],
          typecheck: { enabled: true, include: ['test/types/*.test-d.ts'] },
        },
      },
      {
        // The command line, as it is built.
        resolve: { alias: alias('src/signature/hmac/node.ts') },
        test: {
          name: 'cli',
          include: ['test/cli/built/*.test.ts'],
          globalSetup: 'test/cli/built/setup.ts',
          testTimeout: 60_000,
        },
      },
      {
        // Against real servers of Postgres, which the set-up starts.
        resolve: { alias: alias('src/signature/hmac/node.ts') },
        test: {
          name: 'postgres',
          include: ['test/inbox/postgres/**/*.test.ts'],
          globalSetup: 'test/inbox/postgres/setup.ts',
          testTimeout: 60_000,
        },
      },
      {
        // The packed package, installed into projects of its own.
        test: {
          name: 'installed',
          include: ['test/installed/*.test.ts'],
          globalSetup: 'test/installed/setup.ts',
          testTimeout: 180_000,
        },
      },
      {
        // The built package in processes that are killed and starved.
        test: {
          name: 'faults',
          include: ['test/faults/*.test.ts'],
          globalSetup: 'test/faults/setup.ts',
          testTimeout: 60_000,
        },
      },
      {
        // The built package attacked and measured.
        test: {
          name: 'measured',
          include: ['test/{attack,performance}/*.test.ts'],
          globalSetup: 'test/faults/setup.ts',
          testTimeout: 60_000,
          ...alone(2),
        },
      },
      // Minutes of processor time: `npm run soak` alone runs it.
      ...(process.env.SOAK === '1'
        ? [
            {
              resolve: { alias: alias('src/signature/hmac/node.ts') },
              test: { name: 'soak', include: ['test/soak/*.test.ts'] },
            },
          ]
        : []),
      {
        // The console in a real Chromium, which comes inside an npm package.
        resolve: { alias: alias('src/signature/hmac/node.ts') },
        test: {
          name: 'browser',
          include: ['test/console/browser/*.test.ts'],
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
          expect: { poll: { timeout: 10_000 } },
        },
      },
      {
        // What proves bytes must do so under WebCrypto too.
        resolve: { alias: alias('src/signature/hmac/web.ts') },
        test: {
          name: 'webcrypto',
          include: ['test/{signature,vendors}/*.test.ts', 'test/{parse,receiver}.test.ts'],
          exclude: [measured],
        },
      },
      ...['node', 'web'].map((hmac, nth) => ({
        resolve: { alias: alias(`src/signature/hmac/${hmac}.ts`) },
        test: { name: `timing-${hmac}`, include: [measured], ...alone(3 + nth) },
      })),
    ],
  },
})
