// npm run bench [-- area …] [--quick] [--only 2K] [--node 24] [--publish]: measures each area in
// processes of its own, as often as two runs need to agree, prints Markdown and writes charts.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { toSvg } from './chart.ts'
import { install } from './install.ts'
import { machine, ownVersion, versions } from './machine.ts'
import { publish } from './publish.ts'
import { type Area, isContradicted, joined, type Report, type Section } from './section.ts'
import { toMarkdown, verdicts } from './table.ts'

const here = import.meta.dirname
/** Sections whose charts stand in docs/performance.md. */
const charts = ['everything-2K', 'wrong-signature-2K']
const areas = readdirSync(join(here, 'areas')).map((file) => file.replace(/\.ts$/, ''))

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    /** Sizes, the frameworks of http, or `ack` of inbox. */
    only: { type: 'string', multiple: true },
    node: { type: 'string' },
    /** Writes the tables of docs/performance.md, and the charts that it shows. */
    publish: { type: 'boolean', default: false },
    /** Measures once and prints JSON: how this file runs itself. */
    once: { type: 'string' },
  },
})

if (values.once === undefined) await all(positionals)
else await measureOnce(values.once)

/** One run, in this process; its figures go to stdout as the last line. */
async function measureOnce(name: string): Promise<void> {
  const area = await load(name)
  const sections = await area.measure({
    quick: values.quick,
    ...(values.only && { only: values.only }),
  })
  process.stdout.write(`\n${JSON.stringify(sections)}\n`, () => process.exit())
}

async function all(wanted: readonly string[]): Promise<void> {
  const unknown = wanted.find((name) => !areas.includes(name))
  if (unknown !== undefined) {
    console.error(`no area '${unknown}': choose from ${areas.join(', ')}`)
    process.exitCode = 2
    return
  }
  install()
  const node = nodeOf(values.node)
  const origin = machine(node)
  const out = join(here, 'out')
  mkdirSync(out, { recursive: true })
  const missed = []
  for (const name of wanted.length > 0 ? wanted : areas) {
    const reports = await measured(name, node)
    const text = [`## ${name}`, '', `${origin}; ${versions()}`, '', ...reports.map(toMarkdown)]
    const markdown = text.join('\n')
    console.log(markdown)
    writeFileSync(join(out, `${name}.md`), markdown)
    draw(reports, origin, out)
    if (values.publish) {
      const shown = reports.filter(({ id }) => charts.includes(id))
      draw(shown, origin, join(here, '../docs/images'))
      const { published: tables = [] } = await load(name)
      const where = origin.replace(/ \d+ GB, load [\d.]+,/, '')
      publish(tables, reports, { node: majorOf(node), machine: where, version: ownVersion() })
    }
    missed.push(...reports.flatMap(verdicts).filter(({ ok }) => !ok))
  }
  for (const { what } of missed) console.error(`missed: ${what}`)
  process.exitCode = missed.length > 0 ? 1 : 0
}

/** Runs an area until two runs agree on every ratio, three times at most. */
async function measured(name: string, node: string): Promise<Report[]> {
  const area = await load(name)
  const least = values.quick ? 1 : area.runs
  const runs: Section[][] = []
  let reports: Report[] = []
  while (runs.length < least || (least > 1 && runs.length < 3 && reports.some(isContradicted))) {
    console.error(`${name}: run ${runs.length + 1}`)
    runs.push(await runOnce(area, node))
    const [first = []] = runs
    reports = first.map((_, at) => joined(runs.flatMap((run) => run[at] ?? [])))
  }
  return reports
}

async function runOnce(area: Area, node: string): Promise<Section[]> {
  const { name } = area
  const given = (values.only ?? []).flatMap((one) => ['--only', one])
  const flags = ['--once', name, ...given, ...(values.quick ? ['--quick'] : [])]
  const child = spawn(
    node,
    ['--expose-gc', ...(area.flags ?? []), join(here, 'run.ts'), ...flags],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: here,
    },
  )
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`the area ${name} exited with ${code}`)
  return JSON.parse(Buffer.concat(chunks).toString().trimEnd().split('\n').at(-1) ?? '')
}

async function load(name: string): Promise<Area> {
  const { area }: { area: Area } = await import(join(here, 'areas', `${name}.ts`))
  return area
}

/** The Node that measures: the one of npm scripts, or 24, which is installed here. */
function nodeOf(major: string | undefined): string {
  const node = major === '24' ? join(here, 'node_modules/node24/bin/node') : process.execPath
  const version = versionOf(node)
  if (major !== undefined && !version.startsWith(`v${major}.`)) {
    throw new Error(`--node must be 24 or ${process.versions.node.split('.')[0]}, got ${major}`)
  }
  return node
}

function versionOf(node: string): string {
  return execFileSync(node, ['--version'], { encoding: 'utf8' })
}

function majorOf(node: string): string {
  return /\d+/.exec(versionOf(node))?.[0] ?? ''
}

function draw(reports: readonly Report[], origin: string, folder: string): void {
  for (const report of reports) {
    const svg = toSvg(report, origin)
    if (svg !== undefined) writeFileSync(join(folder, `bench-${report.id}.svg`), svg)
  }
}
