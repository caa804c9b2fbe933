// Who looked at a person's data, and who ran, dismissed or erased what.
/** @jsxImportSource preact */
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Badge } from '../ui/badge.tsx'
import { Empty, Failed } from '../ui/empty.tsx'
import { Page } from '../ui/shell.tsx'
import { type ActivityRow, ask } from './records.ts'

export function ActivityPage() {
  const { data, problem } = useLoad({
    key: 'activity',
    ask: (signal) => ask<{ readonly data: readonly ActivityRow[] }>('/activity', { signal }),
    on: ['changed', 'stats'],
  })
  const list = data?.data ?? []
  return (
    <Page title="Activity">
      {problem && <Failed problem={problem} />}
      {data && list.length === 0 && (
        <Empty title="Nobody did anything yet">
          <p>
            Every reveal of a person’s data and every redrive, replay, dismissal and erasure made
            here is recorded. This process keeps the latest thousand; <code>onActivity</code> hands
            each to your own log.
          </p>
        </Empty>
      )}
      {list.length > 0 && (
        <div class="card table">
          <table>
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col">Who</th>
                <th scope="col">Did</th>
                <th scope="col">To</th>
              </tr>
            </thead>
            <tbody>
              {list.map(({ at, action, what, by }) => (
                <tr key={`${at} ${what} ${action}`}>
                  <td>
                    <Time at={at} />
                  </td>
                  <td>{by ?? 'unknown'}</td>
                  <td>
                    <Badge tone="calm">{action}</Badge>
                  </td>
                  <td class="break">
                    {/^[0-9a-f-]{36}$/.test(what) ? (
                      <a href={href(['entries', what])}>{what}</a>
                    ) : (
                      what
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Page>
  )
}
