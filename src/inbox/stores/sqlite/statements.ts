// The longer statements of the engine.

/** Reads as many rows of one index as it takes lanes. */
export const claimSql = `select lane, head from idv_lanes
  where due is not null and due <= ? order by due, head limit ?`

export const nextDueSql = 'select due from idv_lanes where due is not null order by due limit 1'

export const insertSql = `insert into idv_entries
  (id, state, lane, related, name, received_name, source, occurred_at, stored_at, bytes)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning seq`

export const leaseSql = `update idv_entries set state = 'leased', attempt = attempt + 1, fence = fence + 1,
  owner = ?, lease_until = ?, due = null where seq = ?
  returning id, fence, attempt, name, source, occurred_at as occurredAt, stored_at as storedAt`

export const gapSql =
  "select 1 from idv_entries where lane = ? and seq < ? and state = 'dead' limit 1"

export const highWaterMarkSql = `insert into idv_high_water_marks values (?, ?, ?, ?) on conflict do update set
  at = nullif(max(coalesce(at, 0), coalesce(excluded.at, 0)), 0),
  final = max(final, excluded.final), touched = excluded.touched`
