// Who looked at a person's data, and who ran, dismissed or erased what.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useList } from './load.ts'
import { Time } from './time.tsx'
import { Badge } from './ui/badge.tsx'
import { Empty, Failed, Table } from './ui/detail.tsx'
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
  const { data, problem } = useList<ActivityRow>(path, on)
  const list = data ?? []
  return (
    <Page title={title}>
      {problem && <Failed problem={problem} />}
      {data && list.length === 0 && <Empty title="No activity yet">{children}</Empty>}
      {list.length > 0 && (
        <Table heads={['When', 'Who', 'Did', 'To']}>
          {list.map(({ at, action, what, by }) => (
            <tr key={`${at} ${what} ${action}`}>
              <td>
                <Time at={at} />
              </td>
              <td>{by ?? 'unknown'}</td>
              <td>
                <Badge tone="calm">{action}</Badge>
              </td>
              <td class="break">{hrefOf(what) ? <a href={hrefOf(what)}>{what}</a> : what}</td>
            </tr>
          ))}
        </Table>
      )}
    </Page>
  )
}
