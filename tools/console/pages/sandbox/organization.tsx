// As which organization the console looks at the service.
/** @jsxImportSource preact */
import { computed } from '@preact/signals'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { filter, route } from '../route.ts'
import { control, type Organization } from './resources.ts'

const first = 'org_acme'

/** The organization of the address, so that a shared address shows the same. */
export const organization = computed(() => route.value.query.get('org') ?? first)

export function Organizations() {
  const { data } = useLoad({
    key: 'organizations',
    ask: (signal) =>
      call<{ readonly data: readonly Organization[] }>(`${control}/organizations`, { signal }),
    on: ['state'],
  })
  return (
    <label>
      <span class="hidden">Organization</span>
      <select
        value={organization.value}
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
