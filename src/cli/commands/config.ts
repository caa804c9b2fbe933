// config: the settings in effect and where each comes from; of a secret only that there is one.
import type { Command } from 'commander'
import { exitCodes } from '../exit-code.ts'
import { printable } from '../output.ts'
import type { SettingLine } from '../records/by-command.ts'
import { findSecrets } from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'
import { everyCommand, variableOf } from '../settings.ts'

type Setting = Omit<SettingLine, 'type'>

export const config = (session: Session): Command => {
  const command = declare('config', {
    summary: 'show the settings in effect, and where each comes from',
    examples: ['idv-webhooks config', 'IDV_TO=http://localhost:3000/ idv-webhooks config --json'],
  })
  return command.action(
    act<object>(session, async () => {
      await run(session, command.parent ?? command)
      return exitCodes.ok
    }),
  )
}

async function run(session: Session, root: Command): Promise<void> {
  const { out, config: found, env } = session
  const variables = variablesOf(root)
  const set = fromEnvironment(session, variables)
  const settings: readonly Setting[] = [
    ...(await secretsOf(session)),
    ...hidden(session),
    ...set,
    ...fromFile(session).filter(({ key }) => !set.some((one) => one.key === key)),
  ]
  out.say(found.file ? `config file: ${found.file}` : 'no config file')
  for (const { key, value, source } of settings) {
    out.record({ type: 'setting', key, value, source })
    out.data(`${key.padEnd(14)} ${printable(value)}  ${out.paint('dim', `(${source})`)}`)
  }
  for (const name of Object.keys(env)) {
    if (!name.startsWith('IDV_') || variables.has(name) || name in secretVariables) continue
    out.say(`${printable(name)} is the variable of no option`)
  }
}

async function secretsOf(session: Session): Promise<readonly Setting[]> {
  const { values } = session.config
  const fromEnv = Boolean(session.env.WEBHOOK_SECRET)
  // Its file is a setting of its own, and need not be readable to be shown.
  if (!fromEnv && values.secretFile !== undefined) return []
  const source = fromEnv ? 'environment' : 'file'
  const secrets = await findSecrets(session, {})
  return secrets.map(({ id }) => ({ key: 'secret', value: `${id} (not shown)`, source }))
}

const secretVariables = { IDV_API_KEY: 'apiKey', IDV_INBOX_KEY: 'inboxKey' } as const

function hidden({ env }: Session): readonly Setting[] {
  return Object.entries(secretVariables).flatMap(([name, key]): readonly Setting[] =>
    env[name] ? [{ key, value: '(not shown)', source: 'environment' }] : [],
  )
}

/** Every variable of an option, with the key that it sets. */
function variablesOf(root: Command): ReadonlyMap<string, string> {
  const pairs = everyCommand(root).flatMap((command) =>
    command.options.flatMap((option): readonly (readonly [string, string])[] => {
      const variable = variableOf(command, option)
      if (variable === undefined) return []
      const key = option.attributeName()
      const particular = variable !== `IDV_${key.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`
      return [[variable, particular ? `${command.name()}.${key}` : key]]
    }),
  )
  return new Map(pairs)
}

function fromEnvironment({ env }: Session, variables: ReadonlyMap<string, string>) {
  return Object.entries(env).flatMap(([name, value]): readonly Setting[] => {
    const key = variables.get(name)
    if (key === undefined || value === undefined || name === 'IDV_CONFIG') return []
    return [{ key, value, source: 'environment' }]
  })
}

function fromFile({ config: { values }, env }: Session): readonly Setting[] {
  return Object.entries(values).flatMap(([key, value]): readonly Setting[] => {
    if (key === 'secret' || (key === 'secretFile' && env.WEBHOOK_SECRET)) return []
    if (!isSection(key, value)) return [{ key, value: shown(key, value), source: 'file' }]
    return Object.entries(value).map(([inner, one]) => ({
      key: `${key}.${inner}`,
      value: shown(inner, one),
      source: 'file',
    }))
  })
}

const objects = ['scheme', 'envelope', 'client', 'inbox', 'store', 'encryption', 'retention']

function isSection(key: string, value: unknown): value is object {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !objects.includes(key)
  )
}

/** Objects may hold secrets of their own, so they are named and not spelled. */
function shown(key: string, value: unknown): string {
  if (key === 'encryption') return '(not shown)'
  if (typeof value !== 'object' || value === null) return String(value)
  const name = 'name' in value && typeof value.name === 'string' ? value.name : undefined
  return name ?? (Array.isArray(value) ? `${value.length} values` : '(object)')
}
