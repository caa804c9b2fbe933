// config: the settings in effect and where each comes from; the value of a secret is never shown.
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { exitCodes } from '../exit-code.ts'
import { printable, withoutUser } from '../output.ts'
import type { SettingLine } from '../records/by-command.ts'
import { namedSchemes } from '../scheme-option.ts'
import { findSecrets } from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'
import { everyCommand, variableOf } from '../settings.ts'
import { statOf } from '../stat-of.ts'

type Setting = Omit<SettingLine, 'type'>

export const config = (session: Session): Command => {
  const command = declare('config', {
    summary: 'show the settings in effect and their sources',
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
    out.say(`${printable(name)} is set, but it is not the variable of an option`)
  }
}

async function secretsOf(session: Session): Promise<readonly Setting[]> {
  const { values } = session.config
  const fromEnv = Boolean(session.env.WEBHOOK_SECRET)
  // secretFile is a setting of its own, shown even if it cannot be read.
  if (!fromEnv && values.secretFile !== undefined) return []
  const source = fromEnv ? 'environment' : 'file'
  const secrets = await findSecrets(session, {})
  return secrets.map(({ id }) => ({ key: 'secret', value: `${id} (not shown)`, source }))
}

/** An address of a mail server often holds a password. */
const secretVariables = {
  IDV_API_KEY: 'apiKey',
  IDV_INBOX_KEY: 'inboxKey',
  IDV_SMTP_URL: 'smtpUrl',
} as const

function hidden({ env }: Session): readonly Setting[] {
  return Object.entries(secretVariables).flatMap(([name, key]): readonly Setting[] =>
    env[name] ? [{ key, value: '(not shown)', source: 'environment' }] : [],
  )
}

/** Every variable, with the key that it sets. */
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

function fromEnvironment(session: Session, variables: ReadonlyMap<string, string>) {
  return Object.entries(session.env).flatMap(([name, value]): readonly Setting[] => {
    const key = variables.get(name)
    if (key === undefined || !value || name === 'IDV_CONFIG') return []
    return [{ key, value: shownText(session, key, value), source: 'environment' }]
  })
}

function fromFile(session: Session): readonly Setting[] {
  const { config, env } = session
  const { values } = config
  return Object.entries(values).flatMap(([key, value]): readonly Setting[] => {
    if (key === 'secret' || (key === 'secretFile' && env.WEBHOOK_SECRET)) return []
    if (!isSection(key, value)) return [{ key, value: shown(session, key, value), source: 'file' }]
    return Object.entries(value).map(([inner, one]) => ({
      key: `${key}.${inner}`,
      value: shown(session, inner, one),
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

/** Objects may contain secrets, so only their names are shown. */
function shown(session: Session, key: string, value: unknown): string {
  if (key === 'encryption') return '(not shown)'
  if (typeof value !== 'object' || value === null) return shownText(session, key, String(value))
  const name = 'name' in value && typeof value.name === 'string' ? value.name : undefined
  return name ?? (Array.isArray(value) ? `${value.length} values` : '(object)')
}

/** A secret may have been set where a file or a scheme belongs; an address may contain a password. */
function shownText({ cwd }: Session, key: string, value: string): string {
  if (key === 'header') return '(not shown)'
  if (!['secretFile', 'scheme'].includes(key)) return withoutUser(value)
  const isKnown =
    value === '-' || value in namedSchemes || statOf(resolve(cwd, value)) !== undefined
  return isKnown ? value : '(not shown: not a file)'
}
