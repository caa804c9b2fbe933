// The options that choose entries: those of inbox.find, for every command that takes several.
import { type Command, InvalidArgumentError, Option } from 'commander'
import type { EntryFilter, EntryState } from '../../inbox/index.ts'
import { canonicalName } from '../../protocol/index.ts'
import { momentFrom } from '../moment.ts'
import { repeating } from '../repeated.ts'
import type { Session } from '../session.ts'

/** What they come to. */
export interface FilterOptions {
  readonly state?: readonly EntryState[]
  readonly name?: string
  readonly entity?: string
  readonly tenant?: string
  readonly since?: Date
  readonly search?: string
}

/** Adds them; `states` are the ones that the command can do something with. */
export function withFilter(
  command: Command,
  session: Session,
  states: readonly EntryState[],
): Command {
  if (states.length > 1) command.addOption(stateOption(states))
  return command
    .option('--name <event>', 'only this event')
    .option('--entity <type:id>', 'only what is about it, e.g. verification:ver_42', entityFrom)
    .option('--tenant <name>', 'only this tenant’s')
    .option(
      '--since <time>',
      'only received since: ISO 8601, or 12h or 7d',
      momentFrom(session.now),
    )
    .option('--search <text>', 'part of an entry’s id or name, or a whole id of event or entity')
}

function stateOption(states: readonly EntryState[]): Option {
  const option = new Option('--state <state>', 'only in this state; may be repeated')
  option.choices([...states])
  const check = option.parseArg
  return option.argParser(
    repeating((text) => {
      check?.(text, undefined)
      return text
    }),
  )
}

/** The filter that they make; a legacy name finds what is kept under its current one. */
export function filterOf(options: FilterOptions): EntryFilter {
  const { state, name, entity, tenant, since, search } = options
  return {
    ...(state && state.length > 0 && { state }),
    ...(name !== undefined && { name: canonicalName(name) }),
    ...(entity !== undefined && { entity }),
    ...(tenant !== undefined && { tenant }),
    ...(since && { since }),
    ...(search !== undefined && { search }),
  }
}

/** Reads `verification:<id>` or `client:<id>`; another type would find nothing, in silence. */
export function entityFrom(text: string): string {
  if (/^(verification|client):./.test(text)) return text
  throw new InvalidArgumentError('write verification:<id> or client:<id>')
}
