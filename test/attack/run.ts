// npm run attack [-- framework …]: attacks a receiver behind every framework, on loopback and
// bounded in count and time; prints the figures and exits with 1 when a bound is broken.

import {
  bombed,
  broken,
  crumbled,
  endlessly,
  type Finding,
  flooded,
  idled,
  lied,
} from './attacks.ts'
import { bombs } from './bombs.ts'
import { type Framework, frameworks } from './target.ts'

const unknown = process.argv.slice(2).find((name) => !frameworks.includes(name as Framework))
if (unknown !== undefined) {
  console.error(`no framework '${unknown}': choose from ${frameworks.join(', ')}`)
  process.exit(2)
}
const wanted = process.argv.length > 2 ? (process.argv.slice(2) as Framework[]) : frameworks

function* attacks(framework: Framework): Generator<() => Promise<Finding>> {
  for (const bomb of bombs) yield () => bombed(framework, bomb)
  yield () => idled(framework)
  yield () => lied(framework)
  yield () => crumbled(framework)
  yield () => endlessly(framework, false)
  yield () => endlessly(framework, true)
  yield () => flooded(framework, { requests: 20_000, connections: 64, most: 10_000 })
}

const rounded = (value: number) => (value >= 10 ? Math.round(value) : Math.round(value * 10) / 10)
let misses = 0
for (const framework of wanted) {
  console.log(`\n## ${framework}\n\n| attack | figures | broken |\n|---|---|---|`)
  for (const attack of attacks(framework)) {
    const finding = await attack()
    const faults = broken(finding)
    misses += faults.length
    const figures = finding.figures.map(({ what, value }) => `${what}: ${rounded(value)}`)
    const over = faults.map(({ what, atMost, atLeast }) =>
      atMost === undefined ? `${what} < ${atLeast}` : `${what} > ${atMost}`,
    )
    console.log(`| ${finding.attack} | ${figures.join(', ')} | ${over.join(', ')} |`)
  }
}
console.log(misses === 0 ? '\nevery bound was kept' : `\n${misses} bounds were broken`)
process.exitCode = misses === 0 ? 0 : 1
