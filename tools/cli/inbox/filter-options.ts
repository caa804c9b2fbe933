// The options that choose entries: the filter of inbox.find.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { defined } from '../../../src/foundation/defined.ts'
import type { Entry, EntryFilter, EntryState, Inbox } from '../../../src/inbox/index.ts'
import { canonicalName } from '../../../src/protocol/index.ts'
import { momentFrom, repeating, someText } from '../option-values.ts'
import type { Session } from '../session.ts'

export interface FilterOptions {
  readonly state?: readonly EntryState[]
  readonly name?: string
  readonly entity?: string
  /** False: of none. */
  readonly tenant?: string | false
  readonly since?: Date
  readonly search?: string
}

export function withFilter(command: Command, session: Session, states: readonly EntryState[]) {
  if (states.length > 1) command.addOption(stateOption(states))
  return command
    .option('--name <event>', 'only this event', someText)
    .option('--entity <type:id>', 'only about this entity, e.g. verification:ver_42', entityFrom)
    .option('--tenant <name>', 'only of this tenant', someText)
    .option('--no-tenant', 'only of no tenant')
    .option(
      '--since <time>',
      'only received since: ISO 8601, or an age such as 7d',
      momentFrom(session.now),
    )
    .option(
      '--search <text>',
      'part of the id or name of an entry, or the id of its event or entity',
      someText,
    )
}

function stateOption(states: readonly EntryState[]): Option {
  const option = new Option('--state <state>', 'only in this state; repeatable').choices(states)
  return option.argParser(
    repeating((text) => {
      if (states.includes(text as EntryState)) return text
      throw new InvalidArgumentError(`Allowed choices are ${states.join(', ')}.`)
    }),
  )
}

/** The filter; a legacy name finds entries with the current name. */
export function filterOf(options: FilterOptions): EntryFilter {
  const { state, name, entity, tenant, since, search } = options
  return defined({
    state: state && state.length > 0 ? state : undefined,
    name: name === undefined ? undefined : canonicalName(name),
    entity,
    tenant: tenant === false ? null : tenant,
    since,
    search,
  })
}

/** The inbox rejects invalid ids. */
export function entityFrom(text: string): string {
  if (/^[^\s:]+:./.test(text)) return text
  throw new InvalidArgumentError(
    'Pass verification:<id> or client:<id>, or the <type>:<id> of another event.',
  )
}

export async function* entriesOf(inbox: Inbox, filter: EntryFilter): AsyncGenerator<Entry> {
  let cursor: string | undefined
  do {
    const page = await inbox.find({ ...filter, limit: 500, ...(cursor && { cursor }) })
    yield* page.entries
    cursor = page.cursor
  } while (cursor !== undefined)
}
