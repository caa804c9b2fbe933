// A real workerd that serves a bundled program.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { secret } from './program.ts'

export interface Serving {
  /** The executable. */
  readonly workerd: string
  /** The folder of worker.js. */
  readonly cwd: string
  /** Compatibility flags, each in quotes. */
  readonly flags: string
  readonly date?: string
}

/** Rejects with what it printed where the program does not start. */
export async function servingWorker({ workerd, cwd, flags, date = '2026-01-01' }: Serving) {
  const config = `using Workerd = import "/workerd/workerd.capnp";
    const config :Workerd.Config = (
      services = [(name = "main", worker = (
        modules = [(name = "worker", esModule = embed "worker.js")],
        bindings = [(name = "WEBHOOK_SECRET", text = "${secret}")],
        compatibilityDate = "${date}",
        compatibilityFlags = [${flags}],
      ))],
      sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
    );`
  writeFileSync(join(cwd, 'config.capnp'), config)
  const child = spawn(workerd, ['serve', '--control-fd=3', 'config.capnp'], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      text += chunk
    })
  }
  const ended = once(child, 'close').then(([code]) => {
    throw new Error(`workerd ended with ${code}: ${text}`)
  })
  const listening = once(child.stdio[3] as NodeJS.ReadableStream, 'data')
  const [told] = (await Promise.race([listening, ended])) as [Buffer]
  ended.catch(() => {})
  const { port } = JSON.parse(told.toString()) as { port: number }
  return { url: `http://127.0.0.1:${port}/`, printed: () => text }
}
