// Packs the built package and installs it into an empty project, as a user would.
import { execFile } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'
import { isFull } from '../tier.ts'

const run = promisify(execFile)
const root = resolve(import.meta.dirname, '../..')

export interface Installed {
  /** The packed file. */
  readonly tarball: string
  /** A project in which nothing but the package was installed. */
  readonly bare: string
  /** A project with the frameworks of the examples beside it; in `npm test` with the peers alone. */
  readonly app: string
  /**
   * Node executables by version: one below the floor, the floor, and the next line. The full tier
   * also runs on these and on the other runtimes.
   */
  readonly nodes: Readonly<Record<string, string>>
  readonly bun: string
  readonly deno: string
  /** The newest version, and one that allows less at module scope. */
  readonly workerds: readonly string[]
}

declare module 'vitest' {
  interface ProvidedContext {
    installed: Installed
  }
}

const frameworks = [
  'express',
  'fastify',
  'hono',
  '@hono/node-server',
  'koa',
  'pg',
  'next',
  'react',
  'react-dom',
  'typescript',
  '@types/node',
  '@types/react',
  '@types/express',
  '@types/koa',
  '@opentelemetry/api',
  '@nestjs/common',
  '@nestjs/core',
  '@nestjs/platform-express',
  'reflect-metadata',
  'rxjs',
  '@opentelemetry/sdk-trace-base',
  '@types/pg',
  'pino',
  'prom-client',
  'esbuild',
  'rollup',
  'vite',
]
/** The peers without which an import path does not load. `npm test` links the repository's own. */
const peers = ['@nestjs', '@opentelemetry', 'reflect-metadata', 'rxjs']
/** Bundlers that build an application in a test, besides those of the list above. */
const bundlers = [
  '@rollup/plugin-commonjs@29.0.3',
  '@rollup/plugin-json@6.1.0',
  '@rollup/plugin-node-resolve@16.0.3',
  'webpack@5.112.2',
]
const nodeVersions = ['20.20.2', '22.18.0', '24.21.0']
const workerds = ['workerd@1.20261117.1', 'workerd@1.20260730.1']
const runtimes = ['bun@1.4.5', 'deno@2.9.6', ...workerds]

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (!existsSync(join(root, 'dist/index.js'))) {
    throw new Error('there is no dist to pack: run npm run build first')
  }
  const base = mkdtempSync(join(tmpdir(), 'idv-installed-'))
  const npm = (cwd: string, ...args: string[]) =>
    run('npm', [...args, '--no-audit', '--no-fund', '--loglevel=error'], { cwd })
  const folder = (name: string) => {
    const path = mkdtempSync(join(base, `${name}-`))
    writeFileSync(join(path, 'package.json'), '{"private":true,"type":"module"}\n')
    return path
  }
  await npm(root, 'pack', '--ignore-scripts', '--pack-destination', base)
  const file = readdirSync(base).find((name) => name.endsWith('.tgz'))
  if (!file) throw new Error('npm pack made no file')
  const tarball = join(base, file)
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { version: string }>
  }
  const pinned = frameworks.map(
    (name) => `${name}@${lock.packages[`node_modules/${name}`]?.version}`,
  )
  const install = async (name: string, ...packages: string[]) => {
    const path = folder(name)
    await npm(path, 'install', '--prefer-offline', ...packages)
    return path
  }
  const installLinked = async () => {
    const path = await install('app', tarball)
    for (const name of peers) {
      symlinkSync(join(root, 'node_modules', name), join(path, 'node_modules', name))
    }
    return path
  }
  const executables: Record<string, string> = {}
  const installRuntimes = async () => {
    for (const one of [...nodeVersions.map((version) => `node@${version}`), ...runtimes]) {
      const [name = ''] = one.split('@')
      executables[one] = join(await install('runtime', one), 'node_modules/.bin', name)
    }
  }
  const [bare, app] = await Promise.all([
    install('bare', tarball),
    isFull ? install('app', tarball, ...pinned, ...bundlers) : installLinked(),
    isFull ? installRuntimes() : undefined,
  ])
  project.provide('installed', {
    tarball,
    bare,
    app,
    nodes: Object.fromEntries(
      nodeVersions.map((version) => [version, executables[`node@${version}`] ?? '']),
    ),
    bun: executables['bun@1.4.5'] ?? '',
    deno: executables['deno@2.9.6'] ?? '',
    workerds: workerds.map((one) => executables[one] ?? ''),
  })
  // Some seconds, in which the workers of the tests end.
  return () => rm(base, { recursive: true, force: true })
}
