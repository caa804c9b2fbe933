import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createReceiver } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from './apps.ts'
import { folder, root, run } from './run.ts'

const guide = join(root, 'docs/migrate.md')
const block = /```sh\nnpx idv-webhooks ([^\n]*)\n```\n\n```(\w+)\n.*?```/gs
/** The addresses that the guide speaks of. */
const shown = { service: 'http://localhost:4747', hook: 'https://app.example.com/webhooks' }

const sources = {
  'src/handlers.ts': `receiver.on('request.approved', sendContract)
receiver.on(['request.rejected', 'client.created'], updateCard)
`,
  'src/table.ts': `export const table = new Map([
  ['request.expired', remind],
  ['verification.expired', remindAgain],
])
`,
  'src/events.md': 'We act on `request.approved`.\n',
  'webhooks.log': [
    ['2025-01-06T09:00:00Z', 'request.approved'],
    ['2025-01-20T09:00:00Z', 'request.approved'],
    // Something comes every day but on Sundays.
    ...Array.from({ length: 35 }, (_, at) => new Date(Date.UTC(2025, 0, 21 + at, 9)))
      .filter((at) => at.getUTCDay() !== 0)
      .map((at) => [at.toISOString(), 'verification.approved']),
  ]
    .map(([at, receivedName]) =>
      JSON.stringify({ type: 'outcome', kind: 'handled', at, receivedName, secretId: 'crm' }),
    )
    .join('\n'),
}

function team() {
  const cwd = folder()
  for (const [name, content] of Object.entries(sources)) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), content)
  }
  const options = { cwd, stdio: 'ignore' } as const
  const git = (...args: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@t.test', ...args], options)
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'all')
  return cwd
}

/** A service with two old subscriptions, and the receiver that they are for. */
async function service() {
  const secret = 'a-secret-of-the-team'
  const receiver = createReceiver({ secret })
  receiver.on('verification.approved', () => {})
  const hook = await serve(toNode(receiver))
  const sandbox = await createSandbox({
    seed: 1,
    subscriptions: [
      { url: hook, events: ['request.approved', 'client.created'], secret },
      { url: hook, events: ['*'], secret },
    ],
  })
  onTestFinished(() => sandbox.close())
  const { url } = await sandbox.listen()
  const approve = async () => {
    const response = await sandbox.fetch(
      new Request(`${sandbox.baseUrl}/verifications`, {
        method: 'POST',
        headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
        body: '{"type":"idv","requirements":["document"],"subjectName":"Ada Lovelace"}',
      }),
    )
    const { id } = (await response.json()) as { id: string }
    await sandbox.act(id, ['start', 'submit', 'approve'])
    await sandbox.flush()
  }
  return { url, hook, approve }
}

test('the guide’s commands print the output that it shows', async () => {
  const cwd = team()
  const { url, hook, approve } = await service()
  let text = readFileSync(guide, 'utf8')
  for (const [whole, command = '', language = ''] of [...text.matchAll(block)]) {
    const args = command.replaceAll(shown.service, url).split(' ')
    const { stdout, stderr } = await run(args, { cwd, env: { WEBHOOK_SECRET: 'unused' } })
    const printed = (stdout + stderr).replaceAll(url, shown.service).replaceAll(hook, shown.hook)
    const real = `\`\`\`sh\nnpx idv-webhooks ${command}\n\`\`\`\n\n\`\`\`${language}\n${printed}\`\`\``
    const at = text.indexOf(whole)
    text = text.slice(0, at) + real + text.slice(at + whole.length)
    // Between the two calls an event comes.
    if (command.endsWith('--apply')) await approve()
  }
  await expect(text).toMatchFileSnapshot(guide)
})
