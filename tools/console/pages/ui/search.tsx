// The search field and a filter of a list; both stand in the address.
/** @jsxImportSource preact */
import { useEffect, useRef } from 'preact/hooks'
import { filter, route } from '../route.ts'

/** Between two letters that somebody types. */
const pause = 60

export function Search({ name = 'search', hint = 'Search' }) {
  const field = useRef<HTMLInputElement>(null)
  const waiting = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const value = route.value.query.get(name) ?? ''
  // The address may change by itself, when a filter is cleared, say; but never under one's fingers.
  useEffect(() => {
    const { current } = field
    if (current && waiting.current === undefined && current.value !== value) current.value = value
  }, [value])
  useEffect(() => () => clearTimeout(waiting.current), [])
  return (
    <div class="field search">
      <label for="search">{hint}</label>
      <input
        ref={field}
        id="search"
        type="search"
        autocomplete="off"
        spellcheck={false}
        placeholder="Press / to search"
        defaultValue={value}
        onInput={({ currentTarget: { value: typed } }) => {
          clearTimeout(waiting.current)
          waiting.current = setTimeout(() => {
            waiting.current = undefined
            filter({ [name]: typed || undefined, page: undefined })
          }, pause)
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
