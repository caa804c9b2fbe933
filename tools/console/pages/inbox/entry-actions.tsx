// Actions on an entry: each says what will happen before it does.
/** @jsxImportSource preact */
import { Button } from '../ui/actions.tsx'
import { ask, entityOf, type InboxRow } from './records.ts'

interface EntryAction {
  readonly name: 'redrive' | 'replay' | 'dismiss'
  readonly from: readonly string[]
  readonly title: string
  readonly words: string
  /** The words once it is done. */
  readonly past: string
  readonly danger?: boolean
}

const choices: readonly EntryAction[] = [
  {
    name: 'redrive',
    from: ['dead', 'skipped', 'retry'],
    title: 'Redrive',
    past: 'Queued again',
    words:
      'The handlers that have not succeeded yet run again now, with all attempts available. Handlers that succeeded do not run again.',
  },
  {
    name: 'replay',
    from: ['done'],
    title: 'Replay',
    past: 'Queued again',
    words:
      'Every handler runs again on the stored bytes, including those that succeeded: their effects must be idempotent.',
  },
  {
    name: 'dismiss',
    from: ['dead'],
    title: 'Dismiss',
    past: 'Dismissed',
    danger: true,
    words:
      'No handler runs for it unless an operator redrives it. Later events of its entity that wait for it continue.',
  },
]

interface ActionsProps {
  readonly entry: InboxRow
  readonly onDone: () => void
}

/** A button for each thing that may be done with an entry in its state. */
export function EntryActions({ entry, onDone }: ActionsProps) {
  const { id, state, erased, entity } = entry
  const post = async (path: string, body?: object) => {
    const answer = await ask<{ readonly entries: number }>(path, { method: 'POST', body })
    onDone()
    return answer.entries
  }
  const act = async ({ name, past }: EntryAction) => {
    await post(`/entries/${encodeURIComponent(id)}/${name}`)
    return past
  }
  const forget = async () => {
    const { tenant = null, unreadable } = entry
    // The tenant of an entry that no key opens is unknown.
    const of = unreadable ? {} : { tenant }
    return `${await post('/forget', { entity: entityOf(entry), ...of })} payloads are erased`
  }
  return (
    <>
      {choices
        .filter(({ from }) => from.includes(state) && !(erased && from[0] !== 'dead'))
        .map((one) => (
          <Button
            key={one.name}
            kind={one.danger ? 'danger' : 'main'}
            question={{ title: `${one.title} this entry?`, text: one.words }}
            work={() => act(one)}
          >
            {one.title}
          </Button>
        ))}
      {entity && !erased && (
        <Button kind="danger" question={forgetting(entry)} work={forget}>
          Forget
        </Button>
      )}
    </>
  )
}

function forgetting(entry: InboxRow) {
  const whose = entry.tenant === undefined ? '' : ` of the tenant ${entry.tenant}`
  return {
    title: `Forget ${entityOf(entry)}?`,
    text: `Erases the payload of every event about this entity${whose} and, for a client, of its verifications. Entries that still wait are skipped. This cannot be undone.`,
  }
}
