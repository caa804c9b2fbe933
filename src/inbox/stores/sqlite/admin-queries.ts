// What operators ask of the file: look up, reopen, dismiss, forget, purge, count.

import type {
  Purge,
  Purged,
  Reopening,
  StoredEntry,
  StoreQuery,
  StoreStats,
} from '../../admin-store.ts'
import type { EntryReason, EntryState } from '../../entry.ts'
import type { Connection, Head, Row } from './connection.ts'
import type { SqliteValue } from './driver.ts'

/** The operator's questions, inside the engine's transaction. */
export class AdminQueries {
  readonly #ledger: Connection

  constructor(ledger: Connection) {
    this.#ledger = ledger
  }

  recall({ name, initial }: { readonly name: string; readonly initial: Uint8Array }): Uint8Array {
    this.#ledger.run('insert into idv_settings values (?, ?) on conflict do nothing', name, initial)
    return this.#ledger.get('select value from idv_settings where name = ?', name)
      ?.value as Uint8Array
  }

  remember({ name, value }: { readonly name: string; readonly value: Uint8Array }): void {
    this.#ledger.run('insert or replace into idv_settings values (?, ?)', name, value)
  }

  find(query: StoreQuery): StoredEntry[] {
    const { where, values } = conditions(query)
    const body = query.withBody ? 'c.body' : 'null'
    const sql = `select e.*, c.metadata, ${body} as body from idv_entries e
      left join idv_contents c on c.seq = e.seq
      ${where} order by e.seq ${query.oldestFirst ? 'asc' : 'desc'} limit ?`
    return this.#ledger.all(sql, ...values, query.limit).map((row) => this.#toStored(row))
  }

  reopen({ ids, from, now, replay = false }: Reopening): number {
    let reopened = 0
    for (const id of ids) {
      const head = this.#ledger.head(id)
      if (!head || !from.includes(head.state) || !this.#hasContent(head)) continue
      const source = replay ? ", source = 'replay'" : ''
      const sql = `update idv_entries set state = 'stored', attempt = 0, due = ?, reason = null,
        failures = null, settled_at = null, generation = generation + 1${source} where seq = ?`
      this.#ledger.run(sql, now, head.seq)
      if (replay) this.#ledger.run('delete from idv_handled where seq = ?', head.seq)
      this.#ledger.moved(head.state, 'stored')
      this.#ledger.enter(head, now)
      reopened++
    }
    return reopened
  }

  dismiss({ id, now }: { readonly id: string; readonly now: number }): boolean {
    const head = this.#ledger.head(id)
    if (head?.state !== 'dead') return false
    this.skip(head, 'DISMISSED', now)
    return true
  }

  forget({ lane, now }: { readonly lane: string; readonly now: number }): number {
    const { sql: isAbout, values } = about(lane)
    const sql = `select e.id from idv_entries e where ${isAbout} and e.erased = 0`
    const found = this.#ledger.all(sql, ...values)
    for (const { id } of found) {
      const head = this.#ledger.head(String(id))
      if (!head) continue
      this.#erase(head.seq)
      this.#ledger.run("update idv_keys set digest = '' where entry = ?", head.id)
      // What is at work keeps its lane until its holder is gone: two must never be at work in one.
      if (['stored', 'retry', 'dead'].includes(head.state)) this.skip(head, 'FORGOTTEN', now)
    }
    return found.length
  }

  purge({ doneBefore, deadBefore, keysBefore, limit }: Purge): Purged {
    const settled = `select seq from idv_entries indexed by idv_entries_settled
      where erased = 0 and state = ? and settled_at is not null and settled_at < ?
      and (state <> 'dead' or not exists (select 1 from idv_lanes where head = seq)) limit ?`
    const past = (['done', 'dead', 'skipped'] as const).flatMap((state) =>
      this.#ledger.all(settled, state, state === 'done' ? doneBefore : deadBefore, limit),
    )
    for (const { seq } of past) this.#erase(Number(seq))
    const keys = `delete from idv_keys where key in
      (select key from idv_keys where at < ? limit ?)`
    const gone = `select seq, state from idv_entries
      where erased = 1 and stored_at < ? and state in ('done', 'dead', 'skipped') limit ?`
    let deleted = this.#ledger.run(keys, keysBefore, limit)
    for (const { seq = 0, state } of this.#ledger.all(gone, keysBefore, limit)) {
      this.#ledger.run('delete from idv_entries where seq = ?', seq)
      this.#ledger.run('delete from idv_handled where seq = ?', seq)
      this.#ledger.moved(state as EntryState, undefined)
      deleted++
    }
    this.#ledger.run('delete from idv_high_water_marks where touched < ?', keysBefore)
    // One of which there are entries stays: what comes next in its lane may name nobody again.
    const unrelated = `delete from idv_relations where at < ?
      and not exists (select 1 from idv_entries e where e.lane = idv_relations.lane)`
    // With the last page alone, for it reads a row for each of them.
    if (past.length < limit && deleted < limit) this.#ledger.run(unrelated, keysBefore)
    return { erased: past.length, deleted }
  }

  stats(now: number): StoreStats {
    const rows = this.#ledger.all('select state, count from idv_counts')
    const counts = Object.fromEntries(rows.map(({ state, count }) => [state, count]))
    const oldest = this.#ledger.get(
      `select min(stored_at) as at from idv_entries
       where seq = (select min(head) from idv_lanes)`,
    )?.at
    const due = this.#ledger.get(
      'select due from idv_lanes where due is not null and due <= ? order by due limit 1',
      now,
    )?.due
    const newest = this.#ledger.get(
      'select stored_at as at from idv_entries order by seq desc limit 1',
    )?.at
    return {
      counts: counts as unknown as StoreStats['counts'],
      ...(typeof oldest === 'number' && { oldest }),
      ...(typeof due === 'number' && { due }),
      ...(typeof newest === 'number' && { newest }),
    }
  }

  /** Sets an entry aside; a lane whose head it was goes on. */
  skip(head: Head, reason: EntryReason, now: number): void {
    const wasHead = this.#ledger.isHead(head)
    const sql = `update idv_entries set state = 'skipped', reason = ?, settled_at = ?, due = null
      where seq = ?`
    this.#ledger.run(sql, reason, now, head.seq)
    this.#ledger.moved(head.state, 'skipped')
    if (wasHead) this.#ledger.advance(head.lane, now)
  }

  #hasContent({ seq }: Head): boolean {
    return this.#ledger.get('select 1 from idv_contents where seq = ?', seq) !== undefined
  }

  #erase(seq: number): void {
    this.#ledger.run('delete from idv_contents where seq = ?', seq)
    this.#ledger.run('update idv_entries set erased = 1, failures = null where seq = ?', seq)
  }

  #toStored(row: Row): StoredEntry {
    const handled = this.#ledger.all('select handler from idv_handled where seq = ?', row.seq ?? 0)
    const optional = {
      name: row.name,
      receivedName: row.received_name,
      occurredAt: row.occurred_at,
      due: row.due,
      settledAt: row.settled_at,
      reason: row.reason,
      conflictOf: row.conflict_of,
      metadata: row.metadata,
      body: row.body,
    }
    const present = Object.entries(optional).filter(([, value]) => value !== null)
    return {
      id: row.id,
      state: row.state,
      source: row.source,
      storedAt: row.stored_at,
      attempt: row.attempt,
      generation: row.generation,
      bytes: row.bytes,
      failures: row.failures === null ? [] : JSON.parse(String(row.failures)),
      handled: handled.map(({ handler }) => String(handler)),
      ...Object.fromEntries(present),
    } as unknown as StoredEntry
  }
}

/** A lane or a key as it is, or of any tenant: what goes on with a dot; '/' is next to it. */
function meant(column: string, name: string) {
  const sql = `(${column} = ? or (${column} > ? and ${column} < ?))`
  return { sql, values: [name, `${name}.`, `${name}/`] }
}

function about(lane: string) {
  const [own, related] = [meant('e.lane', lane), meant('e.related', lane)]
  return { sql: `(${own.sql} or ${related.sql})`, values: [...own.values, ...related.values] }
}

/** Part of an id or a name, or a key or a lane. */
function mentioned({ part, keys }: NonNullable<StoreQuery['text']>) {
  const lanes = keys.map(about)
  const known = keys.map((key) => meant('key', key))
  const sql = [
    'instr(e.id, ?) > 0',
    'instr(e.name, ?) > 0',
    ...lanes.map((one) => one.sql),
    ...known.map((one) => `e.id in (select entry from idv_keys where ${one.sql})`),
  ].join(' or ')
  const values = [part, part, ...[...lanes, ...known].flatMap((one) => one.values)]
  return { sql: `(${sql})`, values }
}

function conditions({
  ids,
  states,
  name,
  lane,
  tenant,
  since,
  text,
  after,
  oldestFirst,
}: StoreQuery) {
  const parts: [sql: string, values: readonly SqliteValue[]][] = []
  const oneOf = (list: readonly unknown[]) => `in (${list.map(() => '?').join(', ')})`
  // One variable, however many: SQLite takes 32,766.
  if (ids) parts.push(['e.id in (select value from json_each(?))', [JSON.stringify(ids)]])
  if (states) parts.push([`e.state ${oneOf(states)}`, states])
  if (name !== undefined) parts.push(['e.name = ?', [name]])
  const add = ({ sql, values }: ReturnType<typeof meant>) => parts.push([sql, values])
  if (lane !== undefined) add(about(lane))
  if (tenant !== undefined)
    parts.push(['substr(e.lane, ?) = ?', [-tenant.length - 1, `.${tenant}`]])
  if (since !== undefined) parts.push(['e.stored_at >= ?', [since]])
  if (text) add(mentioned(text))
  if (after !== undefined) {
    const beyond = oldestFirst ? '>' : '<'
    parts.push([`e.seq ${beyond} (select seq from idv_entries where id = ?)`, [after]])
  }
  const where = parts.length > 0 ? `where ${parts.map(([sql]) => sql).join(' and ')}` : ''
  return { where, values: parts.flatMap(([, values]) => values) }
}
