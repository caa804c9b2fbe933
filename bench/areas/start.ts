// How long every command of the command line takes to be there, beside Node alone.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { started } from '../fresh.ts'
import type { Area } from '../section.ts'

const cli = join(import.meta.dirname, '../../dist/cli.js')

/** The commands, as the program itself lists them. */
function commands(): string[] {
  const help = execFileSync(process.execPath, [cli, '--help'], { encoding: 'utf8' })
  const [, list = ''] = help.split(/^commands:/im)
  return [...list.matchAll(/^ {2}([a-z]+)/gm)].flatMap(([, name]) => name ?? [])
}

export const area: Area = {
  name: 'start',
  runs: 2,
  async measure({ quick }) {
    const own = commands()
      .filter((name) => name !== 'help')
      .map((name) => ({ name: `${name} --help`, args: [cli, name, '--help'] }))
    const programs = [
      { name: 'node alone', args: ['--eval', '0'] },
      { name: '--version', args: [cli, '--version'] },
      ...own,
    ]
    const found = await started(programs, quick ? 3 : 15)
    return [
      {
        id: 'start',
        title: 'Start of every command',
        columns: [
          { key: 'cpu', label: 'CPU, ms', unit: 'ms' },
          { key: 'beyond', label: "beyond Node's own", unit: 'ms' },
          { key: 'wall', label: 'wall, ms', unit: 'ms' },
        ],
        chart: 'cpu',
        rows: found.map(({ name, cpu, beyond, wall }) => ({
          name,
          ours: name !== 'node alone',
          values: { cpu, beyond, wall },
        })),
      },
    ]
  },
}
