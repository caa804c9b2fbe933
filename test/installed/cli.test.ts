import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, test } from 'vitest'
import { isFull } from '../tier.ts'

const run = promisify(execFile)
const { bare, bun, nodes } = inject('installed')
const command = join(bare, 'node_modules/.bin/idv-webhooks')
const example = resolve(import.meta.dirname, '../../examples/captures/request-approved.json')

const runtimes: readonly (readonly [name: string, path: string | undefined])[] = isFull
  ? [
      ['Node 22.18', nodes['22.18.0']],
      ['Node 24', nodes['24.21.0']],
      ['Bun', bun],
    ]
  : [['this Node', process.execPath]]

test.each(runtimes)(
  'the command line works on %s with nothing else installed',
  async (_, runtime) => {
    writeFileSync(join(bare, 'capture.json'), readFileSync(example))
    writeFileSync(join(bare, 'legacy.ts'), "on('request.approved')\n")
    const config = "export default { scheme: 'service' satisfies string }\n"
    writeFileSync(join(bare, 'idv-webhooks.config.ts'), config)
    const cli = (...args: readonly string[]) =>
      run(String(runtime), [command, ...args], { cwd: bare })
    expect(await cli('verify', 'capture.json')).toEqual({
      stdout: 'yes capture.json is signed with test-secret (scheme service)\n',
      stderr: '',
    })
    const { stdout } = await cli('migrate', 'code', 'legacy.ts')
    expect(stdout).toContain('request.approved → verification.approved')
  },
)
