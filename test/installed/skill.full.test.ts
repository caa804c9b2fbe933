import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, onTestFinished, test } from 'vitest'
import { llms } from '../../scripts/site/llms.ts'
import { startProgram } from './programs.ts'

const run = promisify(execFile)
const { app, bare } = inject('installed')
const installed = join(bare, 'node_modules/idv-webhooks')
const skill = readFileSync(join(installed, 'docs/skills/mount-receiver/SKILL.md'), 'utf8')
const blocks = (language: string) =>
  [...skill.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, code = '']) =>
    code.trim(),
  )

test('the skill has a name and a description, by which an agent finds it', () => {
  const [, front = ''] = /^---\n(.*?)\n---\n/s.exec(skill) ?? []
  const fields = Object.fromEntries(
    front.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line.split(': ')[1]]),
  )
  expect(Object.keys(fields)).toEqual(['name', 'description'])
  expect(fields.name).toBe('mount-receiver')
  expect(front.length).toBeLessThan(1024)
})

test('the programs and commands of the skill do what the skill says', async () => {
  const folder = join(app, 'skill')
  mkdirSync(folder, { recursive: true })
  const [handlers = ''] = blocks('js')
  const readme = readFileSync(join(installed, 'README.md'), 'utf8')
  const [, program = ''] = /```js\n(.*?)```/s.exec(readme) ?? []
  const env = { ...process.env, WEBHOOK_SECRET: 'a-secret-of-the-skill' }
  const { child, port } = await startProgram(folder, program, env)
  onTestFinished(() => void child.kill('SIGKILL'))
  // npx finds the installed command without asking a registry.
  const commands = blocks('sh').filter((line) => line.startsWith('npx '))
  expect(commands.map((line) => line.split(' ')[2])).toEqual(['send', 'doctor'])
  for (const line of commands) {
    const [, ...args] = line.replace('localhost:3000', `127.0.0.1:${port}`).split(' ')
    const { stdout } = await run('npx', ['--no-install', ...args], { cwd: app, env })
    expect(stdout).toMatch(args[1] === 'send' ? /handled/ : /pass .*exact bytes/s)
  }
  writeFileSync(join(folder, 'handlers.test.mjs'), handlers)
  const { stdout } = await run(process.execPath, ['--test', 'handlers.test.mjs'], { cwd: folder })
  expect(stdout).toMatch(/pass 1\b/)
})

test('llms.txt of the package lists its documents', () => {
  const list = readFileSync(join(installed, 'llms.txt'), 'utf8')
  expect(list).toBe(llms())
  const links = [...list.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link)
  expect(links.length).toBeGreaterThan(20)
  for (const link of links) expect(() => readFileSync(join(installed, link)), link).not.toThrow()
  expect(resolve(installed, links[0] ?? '')).toBe(join(installed, 'README.md'))
})
