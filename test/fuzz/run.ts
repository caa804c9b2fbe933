// npm run fuzz [-- target …] [--runs 1000000] [--seconds 60] [--keep]: fuzzes each target from its
// kept corpus; writes what it found beside it and exits with 1. `--keep` adds to the corpus.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { fuzzTarget, keepCorpus, openSession } from './session.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '2000000' },
    seconds: { type: 'string', default: '60' },
    keep: { type: 'boolean', default: false },
  },
})
const session = await openSession()
const bounds = { runs: Number(values.runs), most: Number(values.seconds) * 1_000 }
console.log(
  '| target | runs | a second | corpus | branches | finding |\n|---|---:|---:|---:|---:|---|',
)
for (const name of positionals.length > 0 ? positionals : Object.keys(session.targets)) {
  const start = performance.now()
  const { runs, corpus, covered, finding } = await fuzzTarget(session, name, bounds)
  const perSecond = Math.round(runs / ((performance.now() - start) / 1_000))
  const found = finding ? String((finding.error as Error)?.message ?? finding.error) : ''
  console.log(`| ${name} | ${runs} | ${perSecond} | ${corpus.length} | ${covered} | ${found} |`)
  if (values.keep) keepCorpus(name, corpus)
  if (!finding) continue
  const folder = join(import.meta.dirname, 'findings')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), finding.input)
  console.error(`${name}: the input is in test/fuzz/findings/${name}`)
  process.exitCode = 1
}
process.exit()
