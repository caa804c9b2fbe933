// As which organisation the console looks at the service.
/** @jsxImportSource preact */
import { computed } from '@preact/signals'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { filter, route } from '../route.ts'
import { control, type Organisation } from './resources.ts'

const first = 'org_acme'

/** The organisation of the address, so that a shared address shows the same. */
export const organisation = computed(() => route.value.query.get('org') ?? first)

export function Organisations() {
  const { data } = useLoad({
    key: 'organisations',
    ask: (signal) =>
      call<{ readonly data: readonly Organisation[] }>(`${control}/organisations`, { signal }),
    on: ['state'],
  })
  return (
    <label>
      <span class="hidden">Organisation</span>
      <select
        value={organisation.value}
        onChange={({ currentTarget: { value } }) =>
          filter({ org: value === first ? undefined : value, page: undefined })
        }
      >
        {(data?.data ?? []).map(({ id, name, plan }) => (
          <option key={id} value={id}>
            {name} · {plan}
          </option>
        ))}
      </select>
    </label>
  )
}
