// Keeps a group of deliveries in one statement: one round trip, one commit.
import { mostConflicts } from '../../../entry.ts'

export const keep = [
  /*
   * Adds a key, or says whose it is. Another transaction that adds the same key is waited for; one
   * that is purged in between is tried again.
   */
  `create function idv.key_1(
  p_key text, p_entry text, p_digest text, p_name text, p_at bigint,
  out known_entry text, out known_digest text, out known_name text
) language plpgsql as $$
begin
  loop
    insert into idv.keys values (p_key, p_entry, p_digest, p_name, p_at) on conflict do nothing;
    exit when found;
    select k.entry, k.digest, k.name into known_entry, known_digest, known_name
      from idv.keys k where k.key = p_key;
    exit when found;
  end loop;
end $$`,

  /* The entry with the same occurrence under another name; without one the keys are added. */
  `create function idv.alias_1(p_aliases json, p_id text, p_digest text, p_at bigint) returns text
language plpgsql as $$
declare t record; k record; v_alias text; v_place bigint; v_added text[] := '{}';
begin
  -- In the order of the keys, so that two that add the same ones never wait in a circle.
  for t in select x.value ->> 'key' as key, x.value ->> 'name' as name, x.place
      from json_array_elements(p_aliases) with ordinality as x(value, place)
      order by x.value ->> 'key' collate "C" loop
    select * into k from idv.key_1(t.key, p_id, p_digest, t.name, p_at);
    if k.known_entry is null then
      v_added := v_added || t.key;
    elsif k.known_name is distinct from t.name and (v_place is null or t.place < v_place) then
      v_alias := k.known_entry;
      v_place := t.place;
    end if;
  end loop;
  if v_alias is not null then delete from idv.keys where key = any(v_added); end if;
  return v_alias;
end $$`,

  /*
   * The lane's lock comes before the number of the entry: a lane's numbers are in the order of the
   * commits, and a late commit never falls below the lane's floor, where no claim would see it.
   */
  `create function idv.keep_1(p_entries text, p_data bytea)
returns table (ord int, kind text, entry text) language plpgsql as $$
declare
  e record; k record; v_made boolean; v_alias text; v_seq bigint; v_related text; v_conflict text;
  v_kept boolean; v_stored int := 0; v_skipped int := 0;
begin
  perform idv.guard_1();
  for e in select x.* from json_to_recordset(p_entries::json) as x(
      ord int, id text, lane text, key text, digest text, aliases json, related text, name text,
      "receivedName" text, source text, "occurredAt" bigint, "storedAt" bigint, bytes int,
      at int, metadata int, body int) order by x.lane collate "C", x.ord loop
    v_made := idv.lock_lane_1(e.lane, null);
    ord := e.ord; entry := e.id; kind := 'stored'; v_kept := true; v_conflict := null;
    if e.key is not null then
      select * into k from idv.key_1(e.key, e.id, e.digest, null, e."storedAt");
      if k.known_entry is not null then
        entry := k.known_entry; v_kept := false;
        if k.known_digest in (e.digest, '') then
          kind := 'duplicate';
        else
          kind := 'conflict'; v_conflict := k.known_entry;
          -- '!' comes next to the space.
          if (select count(*) from idv.keys q where q.key > e.key || ' ' and q.key < e.key || '!')
              < ${mostConflicts} then
            select * into k
              from idv.key_1(e.key || ' ' || e.digest, e.id, e.digest, null, e."storedAt");
            v_kept := k.known_entry is null;
          end if;
        end if;
      end if;
    end if;
    if kind = 'stored' and e.aliases is not null then
      v_alias := idv.alias_1(e.aliases, e.id, e.digest, e."storedAt");
      if v_alias is not null then
        update idv.keys q set entry = v_alias where q.key = e.key;
        -- Perhaps only this duplicate names the related lane.
        perform idv.relate_1(e.lane, e.related, e."storedAt");
        kind := 'duplicate'; entry := v_alias; v_kept := false;
      end if;
    end if;
    if v_kept then
      v_related := idv.relate_1(e.lane, e.related, e."storedAt");
      insert into idv.entries as n (id, state, lane, related, name, received_name, source,
          occurred_at, stored_at, bytes, reason, conflict_of, settled_at)
        values (e.id, case kind when 'stored' then 'stored' else 'skipped' end, e.lane, v_related,
          e.name, e."receivedName", e.source, e."occurredAt", e."storedAt", e.bytes,
          case kind when 'conflict' then 'CONFLICT' end, v_conflict,
          case kind when 'conflict' then e."storedAt" end)
        returning n.seq into v_seq;
      insert into idv.contents values (v_seq,
        substring(p_data from e.at for e.metadata), substring(p_data from e.at + e.metadata for e.body));
      if kind = 'stored' then
        v_stored := v_stored + 1; v_made := false;
        update idv.lanes l set head = v_seq, floor = v_seq, due = e."storedAt"
          where l.lane = e.lane and l.head is null;
      else
        v_skipped := v_skipped + 1;
      end if;
    end if;
    if v_made then delete from idv.lanes l where l.lane = e.lane and l.head is null; end if;
    return next;
  end loop;
  perform idv.count_1(v_stored, 0, 0, 0, 0, v_skipped);
end $$`,
] as const
