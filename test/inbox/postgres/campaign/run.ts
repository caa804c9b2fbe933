// `npm run faults:postgres`: the whole campaign, then a standby that is promoted. KILLS, CRASHES,
// CUTS, STOP, BLACK_HOLE and DELIVERIES change its size. Fails when a promise was broken.
import { runCampaign } from './campaign.ts'
import { runFailover } from './failover.ts'

const size = (name: string, usual: number) => Number(process.env[name] ?? usual)
const say = (text: string) => process.stderr.write(`${text}\n`)

const report = await runCampaign({
  kills: size('KILLS', 100),
  crashes: size('CRASHES', 10),
  cuts: size('CUTS', 100),
  stop: size('STOP', 60_000),
  blackHole: size('BLACK_HOLE', 20_000),
  least: size('DELIVERIES', 100_000),
  say,
})
console.log(JSON.stringify(report, null, 2))
const { lost, storedTwice, effectsTwice, overlaps, inversions, slowestRecovery } = report
const broken = lost + storedTwice + effectsTwice + overlaps + inversions
if (broken > 0 || slowestRecovery > 30_000) process.exitCode = 1

const rounds = size('ROUNDS', 3)
const failover = rounds > 0 ? await runFailover({ rounds, say }) : undefined
if (failover) console.log(JSON.stringify(failover, null, 2))
// The asynchronous standby is the control: it must lose, or nothing was tried.
if (failover && (failover.synchronous.lost > 0 || failover.asynchronous.lost === 0)) {
  process.exitCode = 1
}
