// config: the settings in effect and where each comes from; of a secret only that there is one.
import { variableName } from '../command-with-variables.ts'
import { exitCodes } from '../exit-code.ts'
import { printable } from '../output.ts'
import { findSecrets } from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'

interface Setting {
  readonly key: string
  readonly value: unknown
  readonly source: string
}

export const config = (session: Session) =>
  declare('config', {
    summary: 'show the settings in effect, and where each comes from',
    examples: ['idv-webhooks config', 'IDV_TO=http://localhost:3000/ idv-webhooks config --json'],
  }).action(
    act<object>(session, async () => {
      await run(session)
      return exitCodes.ok
    }),
  )

async function run(session: Session): Promise<void> {
  const { out, config: found, env } = session
  const secrets = await findSecrets(session, {})
  const origin = env.WEBHOOK_SECRET ? 'environment' : 'file'
  const settings: Setting[] = [
    ...secrets.map(({ id }) => ({ key: 'secret', value: `${id} (not shown)`, source: origin })),
    ...hidden(session),
    ...fromEnvironment(session),
    ...Object.entries(found.values)
      .filter(([key]) => key !== 'secret' && env[variableName(key)] === undefined)
      .map(([key, value]) => ({ key, value: shown(key, value), source: 'file' })),
  ]
  out.say(found.file ? `config file: ${found.file}` : 'no config file')
  for (const { key, value, source } of settings) {
    out.record({ type: 'setting', key, value, source })
    out.data(`${key.padEnd(14)} ${printable(String(value))}  ${out.paint('dim', `(${source})`)}`)
  }
}

const secretVariables = { IDV_API_KEY: 'apiKey', IDV_INBOX_KEY: 'inboxKey' } as const

function hidden({ env }: Session): readonly Setting[] {
  return Object.entries(secretVariables).flatMap(([name, key]) =>
    env[name] ? [{ key, value: '(not shown)', source: 'environment' }] : [],
  )
}

/** What the environment sets, by the names that the help gives. */
function fromEnvironment({ env }: Session): readonly Setting[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (!name.startsWith('IDV_') || name in secretVariables || value === undefined) return []
    const key = name
      .slice(4)
      .toLowerCase()
      .replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    return [{ key, value, source: 'environment' }]
  })
}

/** Objects may hold secrets of their own, so they are named and not spelled. */
function shown(key: string, value: unknown): string {
  if (key === 'encryption') return '(not shown)'
  if (typeof value !== 'object' || value === null) return String(value)
  const name = 'name' in value && typeof value.name === 'string' ? value.name : undefined
  return name ?? (Array.isArray(value) ? `${value.length} values` : '(object)')
}
