// Who looked at a person's data, and who ran, dismissed or erased what.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { call } from './call.ts'
import { useLoad } from './load.ts'
import { Time } from './time.tsx'
import { Badge } from './ui/badge.tsx'
import { Empty, Failed } from './ui/empty.tsx'
import { Page } from './ui/shell.tsx'

interface ActivityRow {
  readonly at: string
  readonly action: string
  readonly what: string
  readonly by?: string
}

interface ActivityProps {
  readonly title: string
  /** Where the record is read. */
  readonly path: string
  /** Events after which it is read again. */
  readonly on: readonly string[]
  /** The address of what something was done to, where it has one. */
  readonly hrefOf: (what: string) => string | undefined
  /** Rendered when there is data. */
  readonly children: ComponentChildren
}

export function ActivityPage({ title, path, on, hrefOf, children }: ActivityProps) {
  const { data, problem } = useLoad({
    key: path,
    ask: (signal) => call<{ readonly data: readonly ActivityRow[] }>(path, { signal }),
    on,
  })
  const list = data?.data ?? []
  return (
    <Page title={title}>
      {problem && <Failed problem={problem} />}
      {data && list.length === 0 && <Empty title="No activity yet">{children}</Empty>}
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
                    <What what={what} href={hrefOf(what)} />
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

function What({ what, href }: { readonly what: string; readonly href: string | undefined }) {
  return href === undefined ? <span>{what}</span> : <a href={href}>{what}</a>
}
