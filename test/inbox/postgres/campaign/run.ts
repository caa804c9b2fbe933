// `npm run faults:postgres`: the whole campaign, one that ends with a failover, and standbys that are
// promoted while they lag. Names as KILLS=20 change its size. Fails when a promise was broken.
import { type CampaignOptions, type CampaignReport, runCampaign } from './campaign.ts'
import { type FailoverReport, runFailover } from './failover.ts'

const size = (name: string, usual: number) => Number(process.env[name] ?? usual)
const say = (text: string) => process.stderr.write(`${text}\n`)

const whole: CampaignOptions = {
  kills: size('KILLS', 100),
  killEvery: size('KILL_EVERY', 4_000),
  rounds: size('STEP_ROUNDS', 2),
  crashes: size('CRASHES', 10),
  crashEvery: size('CRASH_EVERY', 25_000),
  cuts: size('CUTS', 200),
  stop: size('STOP', 60_000),
  blackHole: size('BLACK_HOLE', 20_000),
  failOver: false,
  least: size('DELIVERIES', 100_000),
  say,
}
const none = { kills: 0, rounds: 0, crashes: 0, cuts: 0, stop: 0, blackHole: 0 }
const withFailover = { ...whole, ...none, failOver: true, kills: 4, least: size('FAILOVER', 5_000) }

/** The promises that a campaign broke, in words. */
function brokenIn(report: CampaignReport): string[] {
  const zeros = [
    'lost',
    'storedTwice',
    'effectsTwice',
    'overlaps',
    'inversions',
    'crashedProcesses',
  ] as const
  const broken = zeros.filter((name) => report[name] > 0).map((name) => `${name}: ${report[name]}`)
  const { slowestBesideOutages } = report
  if (slowestBesideOutages > 30_000) {
    broken.push(`a recovery took ${slowestBesideOutages} ms, outages left out`)
  }
  return broken
}

/** The asynchronous standby is the control: it must lose, or nothing was tried. */
function brokenBy({ synchronous, asynchronous }: FailoverReport): string[] {
  return [
    ...(synchronous.lost > 0 ? [`a synchronous standby lost ${synchronous.lost}`] : []),
    ...(asynchronous.lost === 0 ? ['the asynchronous standby lost nothing: no control'] : []),
  ]
}

const broken: string[] = []
for (const options of [whole, withFailover].filter(({ least }) => least > 0)) {
  const report = await runCampaign(options)
  console.log(JSON.stringify(report, null, 2))
  broken.push(...brokenIn(report))
}
const rounds = size('ROUNDS', 3)
if (rounds > 0) {
  const report = await runFailover(rounds)
  console.log(JSON.stringify(report, null, 2))
  broken.push(...brokenBy(report))
}
for (const one of broken) say(`BROKEN ${one}`)
process.exitCode = broken.length > 0 ? 1 : 0
