// Runs the built command line: inside this process, in a process of its own, at a real terminal, or
// in the background until it prints something.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { defined } from '../../../src/foundation/defined.ts'
import type { RunInput } from '../../../tools/cli/main.ts'

export const root = resolve(import.meta.dirname, '../../..')
export const cli = join(root, 'dist/cli.js')

/** The output of a run, and how it ended. */
export interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly code: number | null
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly input?: string
  readonly nodeArgs?: readonly string[]
  /** The width of the terminal; unknown by default, as of a pipe. */
  readonly columns?: number
}

/** The environment of a fresh login: no secret, and no colour setting of the developer's. */
const bareEnv: Record<string, string> = {
  PATH: process.env.PATH ?? '',
  HOME: tmpdir(),
  TERM: 'xterm',
  LANG: 'C.UTF-8',
  // The program does the same, a fifth sooner.
  ...defined({ NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
}

function begin(args: readonly string[], options: RunOptions): ChildProcess {
  const { env = {}, cwd = root, nodeArgs = [] } = options
  return spawn(process.execPath, [...nodeArgs, cli, ...args], {
    cwd,
    env: { ...bareEnv, ...env } as NodeJS.ProcessEnv,
  })
}

async function finish(child: ChildProcess): Promise<Ran> {
  let [stdout, stderr] = ['', '']
  child.stdout?.on('data', (part) => {
    stdout += part
  })
  child.stderr?.on('data', (part) => {
    stderr += part
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { stdout, stderr, code }
}

/** The built program without its executable, loaded as Node loads it. */
function program(): { runIn(input: RunInput): Promise<number> } {
  const dist = join(root, 'dist')
  const main = readdirSync(dist).find((name) => /^main-.*\.js$/.test(name))
  if (main === undefined) throw new Error('dist has no main-*.js: run npm run build first')
  return createRequire(import.meta.url)(join(dist, main))
}

/** A stream that keeps what is written to it. */
function kept(): { readonly stream: NodeJS.WriteStream; text(): string } {
  const parts: string[] = []
  const stream = new Writable({
    write: (part, _, done) => {
      parts.push(String(part))
      done()
    },
  })
  return { stream: stream as NodeJS.WriteStream, text: () => parts.join('') }
}

/**
 * Runs to the end inside this process. What only a process has (signals, a terminal, warnings, its
 * end) takes `runProcess`.
 */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  if (options.nodeArgs) return runProcess(args, options)
  const { env = {}, cwd = root, input = '' } = options
  const [stdout, stderr] = [kept(), kept()]
  const code = await program().runIn({
    args,
    env: { ...bareEnv, ...env },
    cwd,
    stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]) as unknown as NodeJS.ReadStream,
    stdout: Object.assign(stdout.stream, defined({ columns: options.columns })),
    stderr: stderr.stream,
    signal: new AbortController().signal,
    ending: { exitCode: 0 },
  })
  return { stdout: stdout.text(), stderr: stderr.text(), code }
}

/** Runs to the end in a process of its own. */
export function runProcess(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = begin(args, options)
  child.stdin?.end(options.input ?? '')
  return finish(child)
}

/** Runs to the end and reads its --json lines. */
export async function runJson(args: readonly string[], options: RunOptions = {}) {
  const ran = await run([...args, '--json'], options)
  const lines = ran.stdout.split('\n').filter((line) => line !== '')
  const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  return { ...ran, records }
}

/** Runs at a terminal of its own (a pty); what both streams print comes as one. */
export async function runAtTerminal(args: readonly string[], options: RunOptions = {}) {
  const { env = {}, cwd = root } = options
  const quoted = [process.execPath, cli, ...args].map((arg) => `'${arg.replaceAll("'", "'\\''")}'`)
  const child = spawn('script', ['-qec', quoted.join(' '), '/dev/null'], {
    cwd,
    env: { ...bareEnv, ...env } as NodeJS.ProcessEnv,
  })
  if (options.input !== undefined) child.stdin.write(options.input)
  const ran = await finish(child)
  return { screen: ran.stdout.replaceAll('\r\n', '\n'), code: ran.code }
}

/** Starts a run at a terminal of its own that goes on; `until` waits for a text, `press` types. */
export function startAtTerminal(args: readonly string[], options: RunOptions = {}) {
  const { env = {}, cwd = root } = options
  const quoted = [process.execPath, cli, ...args].map((arg) => `'${arg.replaceAll("'", "'\\''")}'`)
  const child = spawn('script', ['-qec', quoted.join(' '), '/dev/null'], {
    cwd,
    env: { ...bareEnv, ...env } as NodeJS.ProcessEnv,
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let screen = ''
  const ended = once(child, 'close').then(([code]) => ({
    screen: screen.replaceAll('\r\n', '\n'),
    code: code as number | null,
  }))
  const until = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(screen)
        if (found) resolve(found)
      }
      child.stdout.on('data', look)
      look()
      ended.then(() => reject(new Error(`ended without ${pattern}: ${screen}`)))
    })
  child.stdout.on('data', (part) => {
    screen += part
  })
  return { until, ended, press: (keys: string) => child.stdin.write(keys) }
}

/** Starts a run that goes on; `until` waits for a text on either stream. */
export function start(args: readonly string[], options: RunOptions = {}) {
  const child = begin(args, options)
  onTestFinished(() => void child.kill('SIGKILL'))
  let all = ''
  const ended = finish(child)
  const until = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const found = pattern.exec(all)
        if (found) resolve(found)
      }
      for (const stream of [child.stdout, child.stderr]) {
        stream?.on('data', (part) => {
          all += part
          look()
        })
      }
      look()
      ended.then(() => reject(new Error(`ended without ${pattern}: ${all}`)))
    })
  return { child, ended, until }
}

/** A folder that is gone after the test. */
export function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'idv-cli-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A run as a transcript: what changes from run to run is replaced. */
export function transcript(args: readonly string[], ran: Ran, hidden: Record<string, string> = {}) {
  const parts = [
    `$ idv-webhooks ${args.join(' ')}`,
    ...(ran.stdout ? ['--- stdout', ran.stdout.trimEnd()] : []),
    ...(ran.stderr ? ['--- stderr', ran.stderr.trimEnd()] : []),
    `--- exit ${ran.code}`,
    '',
  ]
  const text = Object.entries(hidden).reduce(
    (all, [value, name]) => all.replaceAll(value, name),
    parts.join('\n'),
  )
  return text
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/ *\d+(\.\d+)? ms/g, ' N ms')
    .replaceAll(/"milliseconds":[\d.]+/g, '"milliseconds":N')
    .replaceAll(/\d{8}T\d{6}Z/g, 'TIME')
    .replaceAll(/Node \d+\.\d+\.\d+/g, 'Node N')
}
