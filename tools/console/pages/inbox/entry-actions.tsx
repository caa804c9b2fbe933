// Actions on an entry: each says what will happen before it does.
/** @jsxImportSource preact */
import { confirmed } from '../ui/confirm.tsx'
import { ask, type EntryRow, entityOf } from './records.ts'

interface EntryAction {
  readonly name: 'redrive' | 'replay' | 'dismiss'
  readonly from: readonly string[]
  readonly title: string
  readonly words: string
  readonly danger?: boolean
}

const choices: readonly EntryAction[] = [
  {
    name: 'redrive',
    from: ['dead', 'skipped', 'retry'],
    title: 'Redrive',
    words:
      'The handlers that have not succeeded yet run again now, with all attempts available. Handlers that succeeded do not run again.',
  },
  {
    name: 'replay',
    from: ['done'],
    title: 'Replay',
    words:
      'Every handler runs again on the stored bytes, including those that succeeded: their effects must be idempotent.',
  },
  {
    name: 'dismiss',
    from: ['dead'],
    title: 'Dismiss',
    danger: true,
    words:
      'No handler runs for it unless somebody redrives it. Later events of its entity that wait for it continue.',
  },
]

/** A button for each thing that may be done with an entry in its state. */
export function EntryActions({
  entry,
  onDone,
}: {
  readonly entry: EntryRow
  readonly onDone: () => void
}) {
  const act = ({ name, title, words, danger = false }: EntryAction) => {
    const question = { title: `${title} this entry?`, text: words, yes: title, danger }
    return confirmed(question, async () => {
      await ask(`/entries/${encodeURIComponent(entry.id)}/${name}`, { method: 'POST' })
      onDone()
      return `${title}: done`
    })
  }
  return (
    <>
      {choices
        .filter(({ from }) => from.includes(entry.state) && !(entry.erased && from[0] !== 'dead'))
        .map((one) => (
          <button
            key={one.name}
            type="button"
            class={one.danger ? 'danger' : 'main'}
            onClick={() => act(one)}
          >
            {one.title}
          </button>
        ))}
      {entry.entity && !entry.erased && <Forget entry={entry} onDone={onDone} />}
    </>
  )
}

function Forget({ entry, onDone }: { readonly entry: EntryRow; readonly onDone: () => void }) {
  const entity = entityOf(entry) ?? ''
  const forget = () => {
    const title = `Forget ${entity}?`
    const { tenant = null } = entry
    // The tenant of one that no key opens is unknown.
    const of = entry.unreadable ? {} : { tenant }
    const whose = tenant === null ? '' : ` of the tenant ${tenant}`
    const text = `Erases the payload of every event about this entity${whose} and, for a client, of its verifications. Entries that still wait are skipped. This cannot be undone.`
    return confirmed({ title, text, yes: 'Forget', danger: true }, async () => {
      const { entries } = await ask<{ readonly entries: number }>('/forget', {
        method: 'POST',
        body: { entity, ...of },
      })
      onDone()
      return `${entries} payloads are erased`
    })
  }
  return (
    <button type="button" class="danger" onClick={forget}>
      Forget…
    </button>
  )
}
