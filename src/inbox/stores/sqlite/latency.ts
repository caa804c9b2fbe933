// The latency of handlers, in SQL: of the entries that were done last, by an index of these.

/** Takes `since`, `limit` and `target`; gives a row for each handler. */
export const latencySql = `
with done as (
  select seq, max(0, settled_at - coalesce(occurred_at, stored_at)) as took
  from idv_entries indexed by idv_entries_settled
  where erased = 0 and state = 'done' and settled_at is not null and settled_at >= ?
  and source <> 'replay' order by settled_at desc limit ?
), ranked as (
  select h.handler, d.took, row_number() over (partition by h.handler order by d.took) as place,
    count(*) over (partition by h.handler) as entries
  from done d join idv_handled h on h.seq = d.seq
)
select handler, max(entries) as entries, count(*) filter (where took <= ?) as within,
  min(took) filter (where place * 100 >= entries * 50) as p50,
  min(took) filter (where place * 100 >= entries * 95) as p95,
  min(took) filter (where place * 100 >= entries * 99) as p99, max(took) as longest
from ranked group by handler order by handler`
