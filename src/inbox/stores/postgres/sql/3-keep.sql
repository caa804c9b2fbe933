-- Keeps a group of deliveries in one statement: one round trip, one commit.

-- One entry of a group: its metadata and body are a part of the bytes that come beside it.
create type idv.arrival as (
  ord int, id text, lane text, key text, digest text, aliases json, related text,
  name text, "receivedName" text, source text, "occurredAt" bigint, "storedAt" bigint, bytes int,
  at int, metadata int, body int
);

-- Locks lanes in their order, and creates those that are not there: these it gives.
create function idv.lock_lanes(p_lanes text[]) returns text[] language plpgsql as $$
declare v_made text[] := '{}'; v_new text[]; v_held int;
begin
  loop
    with made as (
      insert into idv.lanes (lane) select x from unnest(p_lanes) x order by x collate "C"
        on conflict do nothing returning lane
    ) select array_agg(lane) into v_new from made;
    v_made := v_made || coalesce(v_new, '{}');
    perform 1 from idv.lanes l where l.lane = any(p_lanes) order by l.lane for no key update;
    get diagnostics v_held = row_count;
    exit when v_held = cardinality(p_lanes);
  end loop;
  return v_made;
end $$;

-- Adds a key, or says whose it is. Another transaction that adds the same key is waited for; one
-- that is purged in between is tried again.
create function idv.key(
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
end $$;

-- The entry with the same occurrence under another name; without one the keys are added.
create function idv.alias(p_aliases json, p_id text, p_digest text, p_at bigint) returns text
language plpgsql as $$
declare t record; k record; v_alias text; v_place bigint; v_added text[] := '{}';
begin
  -- In the order of the keys, so that two that add the same ones never wait in a circle.
  for t in select x.value ->> 'key' as key, x.value ->> 'name' as name, x.place
      from json_array_elements(p_aliases) with ordinality as x(value, place)
      order by x.value ->> 'key' collate "C" loop
    select * into k from idv.key(t.key, p_id, p_digest, t.name, p_at);
    if k.known_entry is null then
      v_added := v_added || t.key;
    elsif k.known_name is distinct from t.name and k.known_entry <> p_id
        and (v_place is null or t.place < v_place) then
      v_alias := k.known_entry;
      v_place := t.place;
    end if;
  end loop;
  if v_alias is not null then delete from idv.keys where key = any(v_added); end if;
  return v_alias;
end $$;

-- Compares the keys of an entry with the known ones, and adds the new ones; with `p_own` it may have
-- some. Other bytes under a known key are a conflict; 8 are kept as evidence. Its lane must be locked.
create function idv.meet(
  p_id text, p_at bigint, p_own boolean, p_key text, p_digest text, p_aliases json, p_lane text,
  p_related text, out kind text, out first text, out kept boolean
) language plpgsql as $$
declare k record; v_alias text;
begin
  kind := 'stored'; first := p_id; kept := true;
  if p_key is not null then
    select * into k from idv.key(p_key, p_id, p_digest, null, p_at);
    if p_own and k.known_entry = p_id then
      update idv.keys q set digest = p_digest where q.key = p_key;
    elsif k.known_entry is not null then
      kind := case when k.known_digest in (p_digest, '') then 'duplicate' else 'conflict' end;
      first := k.known_entry; kept := false;
      -- '!' comes next to the space.
      if kind = 'conflict'
          and (select count(*) from idv.keys q where q.key > p_key || ' ' and q.key < p_key || '!') < 8 then
        select * into k from idv.key(p_key || ' ' || p_digest, p_id, p_digest, null, p_at);
        kept := k.known_entry is null;
      end if;
      return;
    end if;
  end if;
  if p_aliases is not null then v_alias := idv.alias(p_aliases, p_id, p_digest, p_at); end if;
  if v_alias is null then return; end if;
  kind := 'duplicate'; first := v_alias; kept := false;
  update idv.keys q set entry = v_alias where q.key = p_key;
  -- Perhaps only this duplicate names the related lane.
  perform idv.relate(p_lane, p_related, p_at);
end $$;

-- Entries of lanes in which a key is known, one by one. The lanes must be locked.
create function idv.keep_known(p_entries text, p_data bytea, p_lanes text[])
returns table (ord int, kind text, entry text) language plpgsql as $$
declare e record; m record; v_seq bigint; v_related text;
begin
  for e in select x.* from json_populate_recordset(null::idv.arrival, p_entries::json) x
      where x.lane = any(p_lanes) order by x.lane collate "C", x.ord loop
    select * into m from idv.meet(
      e.id, e."storedAt", false, e.key, e.digest, e.aliases, e.lane, e.related);
    ord := e.ord; entry := m.first; kind := m.kind;
    if m.kept then
      v_related := idv.relate(e.lane, e.related, e."storedAt");
      insert into idv.entries as n (id, state, lane, related, name, received_name, source,
          occurred_at, stored_at, bytes, reason, conflict_of, settled_at)
        values (e.id, case kind when 'stored' then 'stored' else 'skipped' end, e.lane, v_related,
          e.name, e."receivedName", e.source, e."occurredAt", e."storedAt", e.bytes,
          case kind when 'conflict' then 'CONFLICT' end, case kind when 'conflict' then m.first end,
          case kind when 'conflict' then e."storedAt" end)
        returning n.seq into v_seq;
      insert into idv.contents values (v_seq,
        substring(p_data from e.at for e.metadata), substring(p_data from e.at + e.metadata for e.body));
      if kind = 'stored' then
        update idv.lanes l
          set head = v_seq, floor = v_seq, due = idv.stored_due(e."storedAt")
          where l.lane = e.lane and l.head is null;
        update idv.lanes l set floor = v_seq where l.lane = e.lane and l.floor > v_seq;
      end if;
      perform idv.count((kind = 'stored')::int, 0, 0, 0, 0, (kind = 'conflict')::int);
    end if;
    return next;
  end loop;
end $$;

-- Entries of lanes in which every key is new, all at once. The lanes must be locked. Numbers come
-- from the column itself: who may insert may not use the sequence.
create function idv.keep_new(p_entries text, p_data bytea, p_but text[])
returns table (ord int, kind text, entry text) language plpgsql as $$
declare v_seqs bigint[]; v_ids text[]; v_kept int;
begin
  with x as (
    -- As if they came one by one: what an entry names holds for those behind it, and for all that
    -- came before the first name.
    select x.*, (array_agg(x.related) filter (where x.related is not null)
        over (partition by x.lane order by x.ord)) as named,
      (array_agg(x.related) filter (where x.related is not null) over (partition by x.lane
        order by x.ord rows between unbounded preceding and unbounded following)) as names
    from json_populate_recordset(null::idv.arrival, p_entries::json) x where not x.lane = any(p_but)
  ), e as materialized (
    select x.*, (select r.related from idv.relations r where r.lane = x.lane) as known from x
  ), related as (
    insert into idv.relations select distinct on (e.lane) e.lane,
        e.names[cardinality(e.names)], e."storedAt" from e where e.names is not null
        order by e.lane, e.ord desc
      on conflict (lane) do update set related = excluded.related, at = excluded.at
  ), earlier as (
    update idv.entries n set related = f.first from (
        select distinct e.lane, e.names[1] as first from e where e.names is not null and e.known is null
      ) f cross join lateral (
        select o.seq from idv.entries o where o.lane = f.lane and o.related is null
          order by o.seq desc limit 500
      ) o where n.seq = o.seq and n.related is null
  ), n as (
    insert into idv.entries (id, state, lane, related, name, received_name, source, occurred_at,
        stored_at, bytes)
      select e.id, 'stored', e.lane, coalesce(e.named[cardinality(e.named)], e.known, e.names[1]),
        e.name, e."receivedName", e.source, e."occurredAt", e."storedAt", e.bytes
      from e order by e.lane collate "C", e.ord returning entries.seq, entries.id
  ) select array_agg(n.seq), array_agg(n.id) into v_seqs, v_ids from n;
  return query with x as (
    select x.*, row_number() over (order by x.lane collate "C", x.ord)::int as place
    from json_populate_recordset(null::idv.arrival, p_entries::json) x where not x.lane = any(p_but)
  ), e as materialized (
    select x.*, v_seqs[x.place] as seq from x where v_ids[x.place] = x.id
  ), contents as (
    insert into idv.contents select e.seq, substring(p_data from e.at for e.metadata),
      substring(p_data from e.at + e.metadata for e.body) from e
  ), firsts as materialized (
    select distinct on (e.lane) e.lane, e.seq, e."storedAt" from e order by e.lane, e.seq
  ), heads as (
    update idv.lanes l
      set head = f.seq, floor = f.seq, due = idv.stored_due(f."storedAt")
      from firsts f where l.lane = f.lane and l.head is null
  ), floors as (
    -- Numbers go back where a copy of the database left the sequence behind.
    update idv.lanes l set floor = f.seq
      from firsts f where l.lane = f.lane and l.head is not null and l.floor > f.seq
  ) select e.ord, 'stored', e.id from e;
  get diagnostics v_kept = row_count;
  if v_kept <> coalesce(cardinality(v_seqs), 0) then
    raise exception 'entries were numbered in another order than they came';
  end if;
end $$;

-- A lane's lock comes before the number of an entry: a lane's numbers are in the order of the
-- commits, and a late commit never falls below the lane's floor, where no claim would see it.
create function idv.keep(p_entries text, p_data bytea)
returns table (ord int, kind text, entry text) language plpgsql as $$
declare v_made text[]; v_known text[]; v_added text[]; v_stored int;
begin
  perform idv.guard();
  v_made := idv.lock_lanes(array(
    select distinct x.lane collate "C" from json_to_recordset(p_entries::json) as x(lane text)));
  with e as (
    select * from json_populate_recordset(null::idv.arrival, p_entries::json) x
  ), wanted as materialized (
    select e.lane, e.id, e.digest, e."storedAt" as at, e.key, null as name
      from e where e.key is not null
    union all select e.lane, e.id, e.digest, e."storedAt", a ->> 'key', a ->> 'name'
      from e, json_array_elements(e.aliases) a
  ), added as (
    -- In the order of the keys, so that two that add the same ones do not wait in a circle.
    insert into idv.keys select w.key, w.id, w.digest, w.name, w.at from wanted w
      order by w.key collate "C" on conflict do nothing returning keys.key, keys.entry
  ) select array(select distinct w.lane from wanted w
        where (w.key, w.id) not in (select a.key, a.entry from added a)),
      array(select a.key from added a) into v_known, v_added;
  if cardinality(v_known) > 0 then
    delete from idv.keys k where k.key = any(v_added) and k.entry in (
      select x.id from json_to_recordset(p_entries::json) as x(id text, lane text)
        where x.lane = any(v_known));
  end if;
  return query select * from idv.keep_new(p_entries, p_data, v_known);
  get diagnostics v_stored = row_count;
  perform idv.count(v_stored, 0, 0, 0, 0, 0);
  if cardinality(v_known) > 0 then
    return query select * from idv.keep_known(p_entries, p_data, v_known);
    delete from idv.lanes l where l.lane = any(v_made) and l.head is null;
  end if;
end $$;
