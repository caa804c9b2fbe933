// The tools that read an inbox: find, show, stats. Payloads are masked, and cut where they are long.
import { defined } from '../../../src/foundation/defined.ts'
import { canonicalName } from '../../../src/protocol/index.ts'
import { CliError } from '../exit-code.ts'
import { entryStates } from '../inbox/entry-states.ts'
import { withInbox } from '../inbox/find-inbox.ts'
import { entryRecord, shownDelivery } from '../inbox/print-entry.ts'
import type { Given, Tool } from './tool.ts'

/** Letters of a payload that are shown: a reader of more would better run the command. */
const longestPayload = 20_000

const text = (description: string) => ({ type: 'string', minLength: 1, description })

export const inboxTools: readonly Tool[] = [
  {
    name: 'inbox_find',
    title: 'Find entries',
    description:
      'Lists entries of the inbox, newest first, without their payloads: state, event, entity, attempts, reason, failures. Dead letters: state `dead`.',
    properties: {
      state: {
        type: 'array',
        items: { type: 'string', enum: [...entryStates] },
        description: 'Only these states.',
      },
      name: text('Only this event, e.g. verification.approved.'),
      entity: text('Only about this entity: verification:<id> or client:<id>.'),
      tenant: text('Only of this tenant.'),
      since: text('Only received since: ISO 8601.'),
      search: text('Part of the id or name of an entry, or the id of its event or entity.'),
      limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Default 20.' },
      cursor: text('Continue where the previous page ended.'),
    },
    run: (session, options, given) =>
      withInbox(session, options, async ({ inbox }) => {
        const { entries, cursor } = await inbox.find({ limit: 20, ...filterOf(given) })
        return { entries: entries.map(entryRecord), ...defined({ cursor }) }
      }),
  },
  {
    name: 'inbox_show',
    title: 'Show an entry',
    description:
      'Shows one entry of the inbox: its state, failures, which handlers have succeeded, and its payload with every value masked that may be about a person.',
    properties: { id: text('The whole id of the entry, as inbox_find lists it.') },
    required: ['id'],
    run: (session, options, given) =>
      withInbox(session, options, async ({ inbox }) => {
        const entry = await inbox.get(String(given.id), { withDelivery: true })
        if (!entry) {
          const message = 'the inbox has no entry with this id: inbox_find lists the ids'
          throw new CliError('ENTRY_MISSING', message)
        }
        const { delivery } = entry
        const { payload } = delivery ? await shownDelivery(delivery, false) : {}
        const isLong = payload !== undefined && payload.length > longestPayload
        return {
          ...entryRecord(entry),
          ...defined({ payload: payload?.slice(0, longestPayload) }),
          ...(payload !== undefined && { masked: true }),
          ...(isLong && { truncated: true }),
        }
      }),
  },
  {
    name: 'inbox_stats',
    title: 'Statistics of the inbox',
    description:
      'Counts entries by state, and says how far behind the handlers are: milliseconds since the oldest open entry was kept (oldestAge), and by which the longest waiting one is overdue (lag). For each handler: percentiles of the milliseconds from an event’s occurrence to done, and the share within the target.',
    properties: {
      target: {
        type: 'integer',
        minimum: 1,
        maximum: 2_147_483_647,
        description: 'Milliseconds within which an event should be done. Default 60000.',
      },
      since: text('Only entries done since: ISO 8601. Default: 24 hours ago.'),
    },
    run: (session, options, { target, since }) =>
      withInbox(session, options, async ({ inbox }) =>
        inbox.stats({
          target: typeof target === 'number' ? target : 60_000,
          ...(since !== undefined && { since: String(since) }),
        }),
      ),
  },
]

/** A legacy name finds entries with the current name. */
function filterOf({ name, ...given }: Given): object {
  return name === undefined ? given : { ...given, name: canonicalName(String(name)) }
}
