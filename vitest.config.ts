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
  'idv-webhooks/keys': here('src/signature/keys.ts'),
  'idv-webhooks': here('src/index.ts'),
}

/** Compares times: in groups of its own after the others, one file at a time. */
const timing = 'test/signature/timing.full.test.ts'
const alone = (groupOrder: number) => ({
  sequence: { groupOrder },
  fileParallelism: false,
})

const alias = (hmac: 'node' | 'web') => [
  { find: '#hmac', replacement: here(`src/signature/hmac/${hmac}.ts`) },
  ...Object.entries(doors).map(([find, replacement]) => ({
    find: new RegExp(`^${find}$`),
    replacement,
  })),
]
const onNode = { alias: alias('node') }

/**
 * `vitest run` runs all but `*.full.test.ts`. `vitest run --mode full` runs these, and again with
 * their whole size the tests that have one (`sized` in test/tier.ts).
 */
export default defineConfig(({ mode }) => {
  const isFull = mode === 'full'
  process.env.TEST_TIER = isFull ? 'full' : 'default'
  const files = (folder: string, ...sized: readonly string[]) => ({
    include: isFull ? [`${folder}/*.full.test.ts`, ...sized] : [`${folder}/*.test.ts`],
    exclude: isFull ? [] : ['**/*.full.test.ts'],
  })
  /** Folders with projects of their own. */
  const apart = [
    'test/{installed,soak,faults,attack,performance}/**',
    'test/cli/built/**',
    'test/console/browser/**',
    'test/inbox/postgres/**',
    timing,
  ]
  const built = files('test/cli/built')
  if (!isFull) built.include.push('test/performance/entries.test.ts')
  const node = files('test/**', 'test/inbox/{model,stores}.test.ts', 'test/cli/reconcile.test.ts')
  return {
    test: {
      testTimeout: 20_000,
      // Tests wait for processes and servers as much as they compute; the full ones compute more.
      maxWorkers: isFull ? availableParallelism() + 1 : 2 * availableParallelism(),
      projects: [
        {
          resolve: onNode,
          test: {
            name: 'node',
            include: [...node.include, ...(isFull ? [] : ['examples/*.test.ts'])],
            exclude: [...node.exclude, ...apart],
            typecheck: { enabled: !isFull, include: ['test/types/*.test-d.ts'] },
          },
        },
        {
          // The command line, as it is built, and how many functions the built package enters.
          resolve: onNode,
          test: {
            name: 'cli',
            ...built,
            globalSetup: 'test/cli/built/setup.ts',
            testTimeout: 60_000,
          },
        },
        {
          // Against real servers of Postgres, which the set-up starts.
          resolve: onNode,
          test: {
            name: 'postgres',
            ...files('test/inbox/postgres', 'test/inbox/postgres/{conformance,model}.test.ts'),
            globalSetup: 'test/inbox/postgres/setup.ts',
            testTimeout: 60_000,
          },
        },
        {
          // The packed package, installed into projects of its own.
          test: {
            name: 'installed',
            ...files('test/installed', 'test/installed/cli.test.ts'),
            globalSetup: 'test/installed/setup.ts',
            testTimeout: 180_000,
          },
        },
        {
          // The built package in processes that are killed and starved.
          test: {
            name: 'faults',
            ...files('test/faults', 'test/faults/{crashes,disk}.test.ts'),
            globalSetup: 'test/faults/setup.ts',
            testTimeout: 60_000,
          },
        },
        {
          // The console in a real Chromium, which comes inside an npm package.
          resolve: onNode,
          test: {
            name: 'browser',
            ...files('test/console/browser'),
            sequence: { groupOrder: 1 },
            testTimeout: 60_000,
            hookTimeout: 60_000,
            expect: { poll: { timeout: 10_000 } },
          },
        },
        {
          // What proves bytes must do so under WebCrypto too.
          resolve: { alias: alias('web') },
          test: {
            name: 'webcrypto',
            include: isFull
              ? []
              : ['test/{signature,vendors}/*.test.ts', 'test/{parse,receiver}.test.ts'],
            exclude: [timing],
          },
        },
        // The built package attacked and measured.
        ...(isFull
          ? [
              {
                test: {
                  name: 'measured',
                  include: ['test/{attack,performance}/*.full.test.ts'],
                  globalSetup: 'test/faults/setup.ts',
                  testTimeout: 60_000,
                  ...alone(2),
                },
              },
              ...(['node', 'web'] as const).map((hmac, nth) => ({
                resolve: { alias: alias(hmac) },
                test: { name: `timing-${hmac}`, include: [timing], ...alone(3 + nth) },
              })),
            ]
          : []),
        // Minutes of processor time: `npm run soak` alone runs it.
        ...(process.env.SOAK === '1'
          ? [{ resolve: onNode, test: { name: 'soak', include: ['test/soak/*.test.ts'] } }]
          : []),
      ],
    },
  }
})
