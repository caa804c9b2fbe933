import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const listening =
  'app.listen(0).on("listening", function () { console.error(this.address().port) })'

/** Saves a program of a document as app.mjs and starts it on a free port instead of 3000. */
export async function startProgram(folder: string, program: string, env: NodeJS.ProcessEnv) {
  writeFileSync(join(folder, 'app.mjs'), program.replace('app.listen(3000)', listening))
  const child: ChildProcess = spawn(process.execPath, ['app.mjs'], { cwd: folder, env })
  const printed: string[] = []
  child.stdout?.on('data', (chunk) => printed.push(String(chunk)))
  const port = await new Promise<string>((done) => {
    child.stderr?.on('data', (chunk) => {
      const [found] = /^\d+$/m.exec(String(chunk)) ?? []
      if (found) done(found)
    })
  })
  return { child, port, printed: () => printed.join('') }
}
