// Weighs the package beside its peers: installed, imported cold, and bundled for a worker.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import { bundleParts } from '../bundle-parts.ts'
import { started } from '../fresh.ts'
import type { Area, Section } from '../section.ts'

const here = join(import.meta.dirname, '..')
const root = join(here, '..')
const peers = [
  '@octokit/webhooks',
  'stripe',
  'standardwebhooks',
  'svix',
  '@hookflo/tern',
  '@clerk/backend',
  '@workos-inc/node',
]

interface Lock {
  readonly packages: Readonly<Record<string, { dependencies?: Record<string, string> }>>
}

interface Weight {
  readonly packages: number
  readonly files: number
  readonly bytes: number
}

function lockOf(folder: string): Lock {
  return JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'))
}

/** A package and all that it brings, as the lock file of a folder resolves them. */
function closure(lock: Lock, name: string, from = ''): Set<string> {
  const seen = new Set<string>()
  const visit = (wanted: string, parent: string) => {
    let folder = parent
    let at = `${folder}${folder && '/'}node_modules/${wanted}`
    while (!lock.packages[at] && folder !== '') {
      folder = folder.split('/node_modules/').slice(0, -1).join('/node_modules/')
      at = `${folder}${folder && '/'}node_modules/${wanted}`
    }
    if (!lock.packages[at] || seen.has(at)) return
    seen.add(at)
    for (const next of Object.keys(lock.packages[at]?.dependencies ?? {})) visit(next, at)
  }
  visit(name, from)
  return seen
}

function weigh(folder: string, places: Iterable<string>): Weight {
  let [packages, files, bytes] = [0, 0, 0]
  for (const place of places) {
    packages++
    for (const entry of readdirSync(join(folder, place), {
      recursive: true,
      withFileTypes: true,
    })) {
      const nested = entry.parentPath.slice(join(folder, place).length).includes('node_modules')
      if (!entry.isFile() || nested) continue
      files++
      bytes += statSync(join(entry.parentPath, entry.name)).size
    }
  }
  return { packages, files, bytes }
}

function ownWeight(): Weight {
  const flags = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const told = execFileSync('npm', flags, { cwd: root, encoding: 'utf8', stdio: 'pipe' })
  const packed = Object.values(JSON.parse(told))[0] as { unpackedSize: number; entryCount: number }
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const lock = lockOf(root)
  const places = new Set(Object.keys(dependencies).flatMap((name) => [...closure(lock, name)]))
  const brought = weigh(root, places)
  return {
    packages: brought.packages + 1,
    files: brought.files + packed.entryCount,
    bytes: brought.bytes + packed.unpackedSize,
  }
}

function installed(): Section {
  const lock = lockOf(here)
  const all = [
    ['idv-webhooks', ownWeight()] as const,
    ...peers.map((name) => [name, weigh(here, closure(lock, name))] as const),
  ]
  return {
    id: 'weight-install',
    title: 'Installed, with everything that it brings',
    columns: [
      { key: 'packages', label: 'packages', unit: 'count' },
      { key: 'files', label: 'files', unit: 'count' },
      { key: 'size', label: 'MB', unit: 'MB' },
    ],
    chart: 'size',
    rows: all.map(([name, { packages, files, bytes }]) => ({
      name,
      ours: name === 'idv-webhooks',
      values: { packages, files, size: bytes / 1e6 },
    })),
  }
}

/** The package's own doors, as its manifest lists them. */
function doors(): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.keys(exports)
    .filter((door) => door !== './package.json')
    .map((door) => `idv-webhooks${door.slice(1)}`)
}

async function imported(isQuick: boolean): Promise<Section> {
  const modules = [
    'zod',
    ...doors(),
    ...peers.map((name) => name.replace(/(@clerk.*)/, '$1/webhooks')),
  ]
  const optional = new Set(['idv-webhooks/nest', 'idv-webhooks/opentelemetry'])
  const programs = modules
    .filter((name) => !optional.has(name))
    .map((name) => ({
      name,
      args: ['--input-type=module', '--eval', `await import(${JSON.stringify(name)})`],
    }))
  const found = await started(
    [{ name: 'nothing', args: ['--input-type=module', '--eval', '0'] }, ...programs],
    isQuick ? 3 : 15,
  )
  const zod = found.find(({ name }) => name === 'zod')?.beyond ?? 0
  return {
    id: 'weight-import',
    title: 'Imported in a fresh process',
    columns: [
      { key: 'beyond', label: "CPU beyond Node's own, ms", unit: 'ms' },
      { key: 'zod', label: "beyond zod's, ms", unit: 'ms' },
      { key: 'rss', label: 'memory, MB', unit: 'MB' },
    ],
    chart: 'beyond',
    rows: found.slice(1).map(({ name, beyond, rss }) => ({
      name,
      ours: name.startsWith('idv-webhooks'),
      values: { beyond, zod: beyond - zod, rss },
    })),
    targets: [{ row: 'idv-webhooks', column: 'zod', atMost: 15 }],
  }
}

const receiver = `import { createReceiver } from 'idv-webhooks'
import { toFetch } from 'idv-webhooks/fetch'
const receiver = createReceiver({ secret: globalThis.SECRET })
receiver.on('verification.approved', () => {})
export default { fetch: toFetch(receiver) }`

const byHand = `const key = crypto.subtle.importKey('raw', new TextEncoder().encode(globalThis.SECRET), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
export default { async fetch(request) {
  const body = await request.arrayBuffer()
  const claim = Uint8Array.from((request.headers.get('x-service-signature') ?? '').match(/../g) ?? [], (pair) => parseInt(pair, 16))
  if (!(await crypto.subtle.verify('HMAC', await key, claim, body))) return new Response(null, { status: 401 })
  await globalThis.handlers[JSON.parse(new TextDecoder().decode(body)).event]()
  return new Response('ok')
} }`

const workers: Readonly<Record<string, string>> = {
  'by hand, without a schema': byHand,
  'idv-webhooks: verify alone': "export { verify } from 'idv-webhooks'",
  'idv-webhooks: receiver and fetch': receiver,
  '@octokit/webhooks': `import { Webhooks, createWebMiddleware } from '@octokit/webhooks'
export default createWebMiddleware(new Webhooks({ secret: globalThis.SECRET }))`,
  stripe: `import Stripe from 'stripe'
export default (body, header) => new Stripe('key').webhooks.constructEventAsync(body, header, globalThis.SECRET)`,
  standardwebhooks: "export { Webhook } from 'standardwebhooks'",
  svix: "export { Webhook } from 'svix'",
  '@hookflo/tern': "export { WebhookVerificationService } from '@hookflo/tern'",
  '@clerk/backend': "export { verifyWebhook } from '@clerk/backend/webhooks'",
  '@workos-inc/node': `import { WorkOS } from '@workos-inc/node'
export default (options) => new WorkOS('key').webhooks.constructEvent(options)`,
}

/** Gzipped bytes of a program, bundled and minified for a worker. */
async function bundled(contents: string, external: readonly string[]): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: here, loader: 'js' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    platform: 'browser',
    conditions: ['workerd', 'worker', 'edge-light', 'browser', 'import'],
    external: [
      'node:*',
      'crypto',
      'buffer',
      'stream',
      'http',
      'https',
      'events',
      'util',
      'os',
      'child_process',
      'string_decoder',
      'async_hooks',
      ...external,
    ],
    logLevel: 'silent',
    // The installed files are weighed, not the sources that the compiler's paths name.
    tsconfigRaw: '{}',
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}

async function bundles(): Promise<Section> {
  const perDoor = doors()
    .filter((door) => !/\/(cli|sandbox|inbox\/sqlite|nest)$/.test(door))
    .map((door) => [`all of ${door}`, `export * from '${door}'`])
  const rows = []
  for (const [name = '', source = ''] of [...Object.entries(workers), ...perDoor]) {
    const without = await bundled(source, ['zod', 'zod/*'])
    const full = await bundled(source, [])
    const ours = name.includes('idv-webhooks')
    rows.push({ name, ours, values: { without: without / 1000, full: full / 1000 } })
  }
  return {
    id: 'weight-bundle',
    title: 'Bundled for a worker, minified and gzipped',
    columns: [
      { key: 'without', label: 'without zod, kB', unit: 'kB' },
      { key: 'full', label: 'with it, kB', unit: 'kB' },
    ],
    chart: 'full',
    rows,
    targets: [
      { row: 'idv-webhooks: verify alone', column: 'full', atMost: 9 },
      { row: 'idv-webhooks: receiver and fetch', column: 'without', atMost: 25 },
      { row: 'idv-webhooks: receiver and fetch', column: 'full', atMost: 46 },
    ],
  }
}

export const area: Area = {
  name: 'weight',
  published: [
    {
      name: 'bundles',
      sections: /^weight-bundle$/,
      rows: /: (?:verify alone|receiver and fetch)|^(?:by hand|@octokit|stripe|svix)/,
      columns: ['without', 'full'],
    },
    {
      name: 'import',
      sections: /^weight-import$/,
      rows: /^(?:zod|idv-webhooks|stripe)$/,
      columns: ['beyond', 'zod'],
    },
    {
      name: 'parts of a receiver',
      sections: /^weight-parts-receiver$/,
      rows: /./,
      columns: ['kB'],
    },
  ],
  runs: 2,
  async measure({ quick }) {
    return [installed(), await imported(quick), await bundles(), ...(await bundleParts())]
  },
}
