// The search field and a filter of a list; both stand in the address.
/** @jsxImportSource preact */
import { useRef } from 'preact/hooks'
import { filter, route } from '../route.ts'

/** Waits until somebody has finished typing, and never longer than a moment. */
export function Search({ name = 'search', hint = 'Search' }) {
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  return (
    <div class="field search">
      <label for="search">{hint}</label>
      <input
        id="search"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="Press / to search"
        defaultValue={route.peek().query.get(name) ?? ''}
        onInput={({ currentTarget: { value } }) => {
          clearTimeout(waiting.current)
          waiting.current = setTimeout(
            () => filter({ [name]: value || undefined, page: undefined }),
            60,
          )
        }}
      />
    </div>
  )
}

interface ChoiceProps {
  readonly name: string
  readonly title?: string
  readonly choices: readonly string[]
  readonly words?: ReadonlyMap<string, string>
}

export function Choice({ name, title, choices, words }: ChoiceProps) {
  const id = `filter-${name}`
  return (
    <div class="field">
      <label for={id}>{title ?? name.charAt(0).toUpperCase() + name.slice(1)}</label>
      <select
        id={id}
        value={route.value.query.get(name) ?? ''}
        onChange={({ currentTarget }) => filter({ [name]: currentTarget.value || undefined })}
      >
        <option value="">any</option>
        {choices.map((one) => (
          <option key={one} value={one}>
            {words?.get(one) ?? one}
          </option>
        ))}
      </select>
    </div>
  )
}
