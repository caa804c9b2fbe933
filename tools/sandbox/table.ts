// Rows of one resource, by id and by organization in the order of creation, and pages of them.
// It reads no field but those that place a row.
import type { Pagination } from '../../src/protocol/resources.ts'

/** A row of a table: its resource's id, owner and time order it, and a number breaks ties. */
export interface Row {
  readonly seq: number
  readonly resource: { readonly id: string; readonly orgId: string; readonly createdAt: string }
}

/** Which rows a list shows and in which order; newest first where `compare` is left out. */
export interface Selection<Kind extends Row> {
  /** Names the selection: equal keys select the same rows. */
  readonly key: string
  readonly keep?: ((row: Kind) => boolean) | undefined
  readonly compare?: ((one: Kind, other: Kind) => number) | undefined
}

export interface Page<Kind> {
  readonly rows: readonly Kind[]
  readonly pagination: Pagination
}

interface Shelf<Kind> {
  /** Oldest first. */
  readonly rows: Kind[]
  readonly selected: Map<string, readonly Kind[]>
}

/** Selections kept until the next change; paging through a list selects and sorts only once. */
const keptSelections = 8

export class Table<Kind extends Row> {
  readonly #byId = new Map<string, Kind>()
  readonly #shelves = new Map<string, Shelf<Kind>>()

  get(id: string): Kind | undefined {
    return this.#byId.get(id)
  }

  insert(row: Kind): void {
    const { rows, selected } = this.#shelfOf(row)
    this.#byId.set(row.resource.id, row)
    rows.splice(placeOf(rows, row), 0, row)
    selected.clear()
  }

  /** Must be called after a row changed, so that no list is answered from an older selection. */
  changed(row: Kind): void {
    this.#shelfOf(row).selected.clear()
  }

  page(
    orgId: string,
    selection: Selection<Kind>,
    { page, limit }: { readonly page: number; readonly limit: number },
  ): Page<Kind> {
    const shelf = this.#shelves.get(orgId)
    const rows = shelf ? select(shelf, selection) : []
    const start = (page - 1) * limit
    return {
      rows: rows.slice(start, start + limit),
      pagination: paginationOf(rows.length, { page, limit }),
    }
  }

  all(): Iterable<Kind> {
    return this.#byId.values()
  }

  /** Rows are copied, so that the ones handed in stay as they are. */
  load(rows: readonly Kind[]): void {
    this.#byId.clear()
    this.#shelves.clear()
    for (const row of [...rows].sort((one, other) => one.seq - other.seq)) this.insert({ ...row })
  }

  #shelfOf({ resource: { orgId } }: Row): Shelf<Kind> {
    let shelf = this.#shelves.get(orgId)
    if (!shelf) {
      shelf = { rows: [], selected: new Map() }
      this.#shelves.set(orgId, shelf)
    }
    return shelf
  }
}

/** Section 2.5: the pagination of one page among `total` rows. */
export function paginationOf(
  total: number,
  { page, limit }: { readonly page: number; readonly limit: number },
): Pagination {
  const totalPages = Math.ceil(total / limit)
  const hasPrev = page > 1 && totalPages > 0
  return { page, limit, total, totalPages, hasNext: page < totalPages, hasPrev }
}

/** Where a row belongs: at the end, unless the clock was set back. */
function placeOf<Kind extends Row>(rows: readonly Kind[], row: Kind): number {
  let place = rows.length
  for (; place > 0; place--) {
    const before = rows[place - 1]
    if (before && !isLater(before, row)) break
  }
  return place
}

function isLater(one: Row, other: Row): boolean {
  const [a, b] = [one.resource.createdAt, other.resource.createdAt]
  return a > b || (a === b && one.seq > other.seq)
}

function select<Kind extends Row>(
  shelf: Shelf<Kind>,
  { key, keep, compare }: Selection<Kind>,
): readonly Kind[] {
  const kept = shelf.selected.get(key)
  if (kept) return kept
  const rows: Kind[] = []
  for (let at = shelf.rows.length - 1; at >= 0; at--) {
    const row = shelf.rows[at] as Kind
    if (!keep || keep(row)) rows.push(row)
  }
  if (compare) rows.sort(compare)
  if (shelf.selected.size >= keptSelections) {
    shelf.selected.delete(shelf.selected.keys().next().value as string)
  }
  shelf.selected.set(key, rows)
  return rows
}
