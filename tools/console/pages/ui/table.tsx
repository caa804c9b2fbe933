// Tables: every list of records, in columns on a wide page and in short blocks on a phone.
/** @jsxImportSource preact */
import type { Signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'

export interface Column<Item> {
  readonly head: string
  readonly cell: (item: Item) => ComponentChildren
  /** `more` goes away beside an open detail; `end` is aligned to the right. */
  readonly kind?: 'more' | 'end' | 'main'
}

export interface TableProps<Item> {
  /** Accessible name of the table. */
  readonly label: string
  readonly items: readonly Item[]
  readonly columns: readonly Column<Item>[]
  readonly idOf: (item: Item) => string
  /** The address that a row opens; its link is in the column of the kind `main`. */
  readonly hrefOf?: (item: Item) => string | undefined
  readonly current?: string | undefined
  /** The chosen rows; with it each row has a box to tick. */
  readonly picked?: Signal<ReadonlySet<string>> | undefined
  readonly isDim?: (item: Item) => boolean
}

export function Table<Item>(props: TableProps<Item>) {
  const { label, items, columns, idOf, picked } = props
  return (
    <table aria-label={label}>
      <thead>
        <tr>
          {picked && <PickAll ids={items.map(idOf)} picked={picked} />}
          {columns.map(({ head, kind }) => (
            <th scope="col" key={head} class={kind}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <Row key={idOf(item)} item={item} {...props} />
        ))}
      </tbody>
    </table>
  )
}

function Row<Item>({ item, ...props }: TableProps<Item> & { readonly item: Item }) {
  const { columns, idOf, hrefOf, current, picked, isDim } = props
  const id = idOf(item)
  const href = hrefOf?.(item)
  return (
    <tr class={href && 'row'} data-id={id} data-dim={isDim?.(item)} data-current={id === current}>
      {picked && (
        <td class="pick">
          <Pick name={`Choose ${id}`} ids={[id]} picked={picked} />
        </td>
      )}
      {columns.map(({ head, cell, kind }) => (
        <td key={head} class={kind} data-head={head}>
          {href && kind === 'main' ? (
            <a class="open" href={href} aria-current={id === current}>
              {cell(item)}
            </a>
          ) : (
            cell(item)
          )}
        </td>
      ))}
    </tr>
  )
}

interface PickProps {
  readonly ids: readonly string[]
  readonly picked: Signal<ReadonlySet<string>>
}

function PickAll(props: PickProps) {
  return (
    <th class="pick">
      <Pick name="Choose all" {...props} />
    </th>
  )
}

function Pick({ name, ids, picked }: PickProps & { readonly name: string }) {
  return (
    <input
      type="checkbox"
      aria-label={name}
      checked={ids.length > 0 && ids.every((id) => picked.value.has(id))}
      onChange={({ currentTarget: { checked } }) => {
        const others = [...picked.value].filter((id) => !ids.includes(id))
        picked.value = new Set(checked ? [...others, ...ids] : others)
      }}
    />
  )
}
