// Runs a vitest file that the console has copied, in a vitest of its own, with the package as it is.
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'

const root = resolve(import.meta.dirname, '../../..')

/** The output of vitest; rejects when a test of the file fails. */
export async function runCopied(file: string): Promise<string> {
  mkdirSync(join(root, 'dist'), { recursive: true })
  const folder = mkdtempSync(join(root, 'dist/copied-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'copied.test.ts'), file)
  writeFileSync(
    join(folder, 'vitest.config.ts'),
    `import whole from ${JSON.stringify(join(root, 'vitest.config.ts'))}
    const { resolve } = whole({ mode: 'test' }).test.projects[0]
    export default { resolve, test: { include: ['copied.test.ts'], root: ${JSON.stringify(folder)} } }`,
  )
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, [vitest, 'run', '--config', 'vitest.config.ts'], {
    cwd: folder,
    env: { ...process.env, NO_COLOR: '1', WEBHOOK_SECRET: undefined },
  })
  return stdout
}
