// Weighs the parts of a worker's bundle: each part is left out in turn, and the bundle is weighed
// again. The bundle is made from the sources, whose files are the parts.
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build, type Plugin } from 'esbuild'
import { diagnosisByCondition } from '../scripts/shared-files.ts'
import type { Section } from './section.ts'

const root = join(import.meta.dirname, '..')

type Parts = Readonly<Record<string, readonly string[]>>

/** The parts, by the files that hold nothing else. */
const proof: Parts = {
  secrets: ['signature/secrets'],
  'grammars, encodings, signed times': [
    'signature/grammar',
    'signature/encoding',
    'signature/time',
  ],
  'claims of headers': ['signature/header-claims', 'delivery'],
  errors: ['errors', 'foundation/check', 'leven/index'],
}

const receiving: Parts = {
  'the proof': [
    ...Object.values(proof).flat(),
    ...['verify', 'signature/signature', 'signature/hmac/web'],
  ],
  parsing: [
    ...['parse', 'protocol/envelope', 'protocol/json-paths', 'protocol/names', 'protocol/events'],
    ...['protocol/resources', 'protocol/vendor'],
  ],
  handlers: [
    ...['dispatch/dispatch', 'dispatch/run', 'dispatch/handler'],
    ...['dispatch/in-flight', 'dispatch/patterns', 'host/process'],
  ],
  'context.fetch()': ['dispatch/fetch-resource'],
  'observations and warnings': [...['observe/observe', 'observe/observers', 'foundation/warn']],
  'bounds of bodies': ['intake/intake', 'arrival'],
  'outcomes and replies': ['outcome/reply', 'outcome/table', 'outcome/outcome'],
  'the adapter over fetch': ['adapters/fetch', 'adapters/mount'],
}

const source = (file: string) => JSON.stringify(join(root, file))
const entries = {
  verify: `export { verify } from ${source('src/verify.ts')}`,
  receiver: `export { createReceiver } from ${source('src/receiver.ts')}
export { toFetch } from ${source('adapters/fetch.ts')}`,
}

/** Gzipped bytes of the bundle without the files that are named. */
async function weighWithout(entry: string, files: readonly string[]): Promise<number> {
  const left: Plugin = {
    name: 'left out',
    setup: ({ onLoad }) =>
      onLoad({ filter: /\.[jt]s$/ }, ({ path }) =>
        // A CommonJS module may lack whatever is imported from it.
        files.some((file) => path.replace(/\.[jt]s$/, '').endsWith(`/${file}`))
          ? { contents: 'module.exports = {}', loader: 'js' as const }
          : undefined,
      ),
  }
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: root, loader: 'ts' },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    external: ['zod', 'zod/*', '#diagnosis'],
    alias: { '#hmac': join(root, 'src/signature/hmac/web.ts') },
    tsconfigRaw: '{}',
    logLevel: 'silent',
    plugins: [left, diagnosisByCondition],
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}

async function section(entry: keyof typeof entries, title: string, parts: Parts): Promise<Section> {
  const weigh = async (files: readonly string[]) =>
    (await weighWithout(entries[entry], files)) / 1000
  const whole = await weigh([])
  const rows = [{ name: 'the whole', values: { kB: whole } }]
  for (const [name, files] of Object.entries(parts)) {
    rows.push({ name, values: { kB: whole - (await weigh(files)) } })
  }
  const kB = await weigh(Object.values(parts).flat())
  rows.push({ name: 'without any of these', values: { kB } })
  const columns = [{ key: 'kB', label: 'gzipped, kB', unit: 'kB' }] as const
  return { id: `weight-parts-${entry}`, title, columns, chart: 'kB', rows }
}

/** The parts of a worker's bundle. */
export async function bundleParts(): Promise<Section[]> {
  return [
    await section('verify', 'What the bundle of verify alone pays for', proof),
    await section('receiver', 'What receiver and fetch pay for, without zod', receiving),
  ]
}
