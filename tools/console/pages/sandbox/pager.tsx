// Where a page stands in its list, and the way to the others.
/** @jsxImportSource preact */
import { filter } from '../route.ts'
import type { Pagination } from './resources.ts'

export function Pager({ of }: { readonly of: Pagination }) {
  const { page, total, totalPages, hasNext, hasPrev } = of
  if (total === 0) return null
  const to = (next: number) => () => filter({ page: next === 1 ? undefined : String(next) })
  return (
    <nav class="pager" aria-label="Pages of the list">
      <span>
        {total} in all{totalPages > 1 && `, page ${page} of ${totalPages}`}
      </span>
      {totalPages > 1 && (
        <>
          <button type="button" disabled={!hasPrev} onClick={to(page - 1)}>
            Newer
          </button>
          <button type="button" disabled={!hasNext} onClick={to(page + 1)}>
            Older
          </button>
        </>
      )}
    </nav>
  )
}
