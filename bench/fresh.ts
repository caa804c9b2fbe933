// Runs programs in fresh processes, in turns, and asks each for its CPU time and memory as it ends.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { median } from './compare.ts'

const report = `import { writeSync } from 'node:fs'
const { rss } = process.memoryUsage()
process.on('exit', () => {
  const { user, system } = process.cpuUsage()
  writeSync(3, JSON.stringify({ cpu: (user + system) / 1000, rss: (process.memoryUsage().rss - rss) / 1e6 }))
})`
const flags = ['--import', `data:text/javascript,${encodeURIComponent(report)}`]

/** Arguments of Node for one program. */
export interface Program {
  readonly name: string
  readonly args: readonly string[]
}

export interface Usage {
  /** Milliseconds of CPU of the whole process. */
  readonly cpu: number
  /** Milliseconds from the start to the exit. */
  readonly wall: number
  /** Megabytes that the program added. */
  readonly rss: number
}

export interface Started extends Usage {
  readonly name: string
  /** Milliseconds of CPU beyond those of the first program, median over the rounds. */
  readonly beyond: number
}

export async function started(programs: readonly Program[], rounds: number): Promise<Started[]> {
  const found = programs.map(({ name }) => ({ name, usages: [] as Usage[] }))
  for (let round = 0; round < rounds; round++) {
    for (const [at, program] of programs.entries()) found[at]?.usages.push(await usage(program))
  }
  const [base] = found
  return found.map(({ name, usages }) => ({
    name,
    cpu: median(usages.map(({ cpu }) => cpu)),
    wall: median(usages.map(({ wall }) => wall)),
    rss: median(usages.map(({ rss }) => rss)),
    beyond: median(usages.map(({ cpu }, round) => cpu - (base?.usages[round]?.cpu ?? 0))),
  }))
}

async function usage({ name, args }: Program): Promise<Usage> {
  const start = performance.now()
  const child = spawn(process.execPath, [...flags, ...args], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  })
  const said: Record<number, string> = { 2: '', 3: '' }
  for (const at of [2, 3]) {
    child.stdio[at]?.on('data', (chunk: Buffer) => {
      said[at] += String(chunk)
    })
  }
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${name} exited with ${code}: ${said[2]?.slice(0, 500)}`)
  return { ...JSON.parse(said[3] ?? ''), wall: performance.now() - start }
}
