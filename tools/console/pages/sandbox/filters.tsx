// The filters that a list of the API takes, made from its document; they stand in the address.
/** @jsxImportSource preact */
import { useLoad } from '../load.ts'
import { filter, route } from '../route.ts'
import { endpointsOf, followed, type Schema } from '../schema.ts'
import { words } from '../ui/form.tsx'
import { Search } from '../ui/search.tsx'
import { api, documentAt } from './resources.ts'

/** Dates are filters too; they are asked for where somebody opens them. */
const rare = /^(matterId|clientId|dateFrom|dateTo)$/

export function Filters({ operation }: { readonly operation: string }) {
  const { data: document } = useLoad({ key: 'api', ask: () => documentAt(api) })
  if (!document) return null
  const found = endpointsOf(document).find(({ operationId }) => operationId === operation)
  const parameters = (found?.parameters ?? []).filter(
    ({ name, in: place }) => place === 'query' && !/^(page|limit|search)$/.test(name),
  )
  const { query } = route.value
  const shown = parameters.filter(({ name }) => !rare.test(name) || query.has(name))
  const more = parameters.filter((one) => !shown.includes(one))
  return (
    <search class="filters" aria-label="Filters">
      <Search />
      {shown.map(({ name, schema }) => (
        <Filter key={name} name={name} schema={followed(schema, document)} />
      ))}
      {more.length > 0 && (
        <label class="field">
          <span class="hidden">More filters</span>
          <select value="" onChange={({ currentTarget }) => filter({ [currentTarget.value]: ' ' })}>
            <option value="">More filters…</option>
            {more.map(({ name }) => (
              <option key={name} value={name}>
                {words(name)}
              </option>
            ))}
          </select>
        </label>
      )}
    </search>
  )
}

function Filter({ name, schema }: { readonly name: string; readonly schema: Schema }) {
  const value = route.value.query.get(name)?.trim() ?? ''
  const choices = schema.enum ?? schema.items?.enum
  const id = `filter-${name}`
  const change = ({ currentTarget }: { currentTarget: HTMLSelectElement | HTMLInputElement }) =>
    filter({ [name]: currentTarget.value || undefined, page: undefined })
  return (
    <div class="field">
      <label for={id}>{words(name)}</label>
      {choices ? (
        <select id={id} value={value} onChange={change}>
          <option value="">
            {schema.default === undefined ? 'any' : words(String(schema.default))}
          </option>
          {choices
            .filter((one) => one !== schema.default)
            .map((one) => (
              <option key={one} value={one}>
                {words(one)}
              </option>
            ))}
        </select>
      ) : (
        <input id={id} value={value} placeholder={placeholder(schema)} onChange={change} />
      )}
    </div>
  )
}

const placeholder = ({ format }: Schema) =>
  format === 'date-time' ? '2026-01-31T12:00:00Z' : format === 'uuid' ? 'a UUID' : ''
