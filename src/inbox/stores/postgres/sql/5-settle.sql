-- Results of attempts: settlements as a group, checkpoints, leases that go on. `state || ''` is an
-- expression, so that no planner takes the index of leased entries for an entry that it finds by its
-- id: while an old snapshot is held, that index has every entry that was leased since.

-- Entries that are done, which most are, in two statements for all of them. Their lanes must be
-- locked.
create function idv.done(p_settlements text, out ords int[], out due bigint) language plpgsql as $$
declare v_lanes text[]; v_times bigint[];
begin
  with s as materialized (
    -- In the order in which leases are renewed; of those that end one attempt the first counts.
    select distinct on (y.lane, y.seq) x.*, y.seq from json_to_recordset(p_settlements::json) as x(
        ord int, id text, fence int, owner int, "to" text, at bigint, handled json,
        "highWaterMark" json, name text)
      cross join lateral (select e.seq, e.lane, e.state, e.fence, e.owner from idv.entries e
        where e.id = x.id offset 0) y
      where y.state = 'leased' and y.fence = x.fence and y.owner = x.owner
      order by y.lane, y.seq, x.ord
  ), e as (
    update idv.entries e set state = 'done', settled_at = s.at, reason = null, due = null,
        failures = null, name = coalesce(s.name, e.name) from s
      where s."to" = 'done' and e.seq = s.seq and e.state || '' = 'leased' and e.fence = s.fence
      and e.owner = s.owner and not e.erased
      returning e.seq, e.lane, s.ord, s.at, s.handled, s."highWaterMark" as mark
  ), h as (
    insert into idv.handled select e.seq, x from e, json_array_elements_text(e.handled) x
      on conflict do nothing
  ), m as (
    insert into idv.marks select e.lane, (e.mark ->> 'at')::bigint, (e.mark ->> 'final')::boolean,
        e.at, e.mark ->> 'decision' from e where e.mark is not null
      on conflict (lane) do update set at = greatest(idv.marks.at, excluded.at),
      final = idv.marks.final or excluded.final, touched = excluded.touched,
      decision = coalesce(excluded.decision, idv.marks.decision)
  ) select array_agg(e.ord), array_agg(e.lane), array_agg(e.at) into ords, v_lanes, v_times from e;
  if ords is null then return; end if;
  with n as materialized (
    select v.lane, o.seq, o.due from unnest(v_lanes, v_times) v(lane, at)
      join idv.lanes l on l.lane = v.lane
      left join lateral (
        select e.seq, case e.state when 'leased' then null
            when 'stored' then idv.stored_due(least(coalesce(e.due, e.stored_at), v.at))
            else e.due end as due
          from idv.entries e where e.lane = v.lane and e.seq >= coalesce(l.floor, 0)
          and e.state in ('stored', 'leased', 'retry') order by e.seq limit 1
      ) o on true
  ), gone as (
    delete from idv.lanes l using n where l.lane = n.lane and n.seq is null
  ), moved as (
    update idv.lanes l set head = n.seq, floor = n.seq, due = n.due from n
      where l.lane = n.lane and n.seq is not null returning l.due
  ) select min(moved.due) into due from moved;
end $$;

-- Takes a settlement from the owner of the lease alone: after a failover a fence may be given
-- out twice. The same settlement again answers as the first for as long as the entry stayed so.
create function idv.settle(p_settlements text)
returns table (ord int, taken boolean, due bigint) language plpgsql as $$
declare
  s record; e idv.entries; v_ords int[]; v_due bigint; v_retry int := 0; v_done int := 0;
  v_dead int := 0; v_skipped int := 0;
begin
  perform idv.guard();
  perform 1 from idv.lanes l where l.lane in (
      select y.lane from json_to_recordset(p_settlements::json) as x(id text)
        join idv.entries y on y.id = x.id)
    order by l.lane for no key update;
  select d.ords, d.due into v_ords, v_due from idv.done(p_settlements) d;
  if v_ords is not null then
    v_done := cardinality(v_ords);
    return query select x, true, v_due from unnest(v_ords) x;
  end if;
  for s in select x.*, y.seq, y.lane from json_to_recordset(p_settlements::json) as x(
      ord int, id text, fence int, owner int, "to" text, at bigint, handled json,
      reason text, failures json, due bigint, hold boolean, sweeps boolean, "highWaterMark" json)
      left join idv.entries y on y.id = x.id
      where v_ords is null or not x.ord = any(v_ords) order by y.lane, x.ord loop
    ord := s.ord; taken := false; due := null;
    if s.seq is not null then
      select * into e from idv.entries x where x.seq = s.seq for no key update;
      if e.state = 'leased' and e.fence = s.fence and e.owner = s.owner then
        taken := not e.erased;
        due := idv.end_attempt(e, s."to", s.at, s.handled, s.reason, s.failures, s.due, s.hold);
        if taken then
          -- Counted once for the group: two rows for each settlement would be half of its work.
          v_retry := v_retry + (s."to" = 'retry')::int; v_dead := v_dead + (s."to" = 'dead')::int;
          v_skipped := v_skipped + (s."to" = 'skipped')::int;
        end if;
      elsif s.sweeps is null and e.fence = s.fence and e.owner = s.owner and not e.erased then
        taken := e.state = case s."to" when 'released' then 'stored' else s."to" end;
      end if;
    end if;
    return next;
  end loop;
  perform idv.count(
    0, -(v_retry + v_done + v_dead + v_skipped), v_retry, v_done, v_dead, v_skipped);
end $$;

-- For what is not done: gives the time at which the lane is due next; the caller counts.
create function idv.end_attempt(
  e idv.entries, p_to text, p_at bigint, p_handled json, p_reason text, p_failures json,
  p_due bigint, p_hold boolean
) returns bigint language plpgsql as $$
begin
  if e.erased then return idv.skip(e.seq, e.lane, 'FORGOTTEN', p_at); end if;
  insert into idv.handled select e.seq, h from json_array_elements_text(p_handled) h
    on conflict do nothing;
  -- A crash or a drain says nothing of handlers: those that failed before stay known.
  if p_to = 'released' then
    if json_array_length(p_failures) > 0 then
      update idv.entries set failures = p_failures where seq = e.seq;
    end if;
    return idv.release(e.seq, e.lane, p_at);
  end if;
  if p_to = 'retry' then
    update idv.entries set state = 'retry', due = p_due, reason = p_reason,
      failures = case json_array_length(p_failures) when 0 then failures else p_failures end
      where seq = e.seq;
    -- An older one may have been opened again meanwhile.
    return idv.advance(e.lane, p_at);
  end if;
  update idv.entries set state = p_to, settled_at = p_at, reason = p_reason, due = null,
    failures = case p_to when 'dead' then p_failures end where seq = e.seq;
  -- A lane of its own it would keep from nobody but retention.
  if p_to = 'dead' and p_hold and split_part(e.lane, '.', 1) <> e.id then return null; end if;
  return idv.advance(e.lane, p_at);
end $$;

-- Also within the transaction of a handler, so that its effects commit with it.
create function idv.checkpoint(p_owner int, p_id text, p_fence int, p_handler text)
returns boolean language plpgsql as $$
declare v_seq bigint;
begin
  perform idv.guard();
  select seq into v_seq from idv.entries where id = p_id and fence = p_fence and owner = p_owner
    and state || '' = 'leased' and not erased for share;
  if not found then return false; end if;
  if p_handler is not null then
    insert into idv.handled values (v_seq, p_handler) on conflict do nothing;
  end if;
  return true;
end $$;

create function idv.renew(p_owner int, p_leases text, p_until bigint) returns void
language plpgsql as $$
begin
  perform idv.guard();
  -- In the order in which settlements lock them.
  perform 1 from idv.entries e where e.id in (
      select x.id from json_to_recordset(p_leases::json) as x(id text, fence int))
    order by e.lane, e.seq for no key update;
  update idv.entries e set lease_until = p_until
    from json_to_recordset(p_leases::json) as x(id text, fence int)
    where e.id = x.id and e.fence = x.fence and e.owner = p_owner and e.state || '' = 'leased';
end $$;

-- Gives an entry that could not be read on arrival its lane, and answers when the first of both lanes
-- is due. Evidence runs where it was named: it is no copy of the entry that it conflicts with.
create function idv.assign(
  p_entry text, p_data bytea, p_fence int, p_owner int, p_now bigint, out kind text, out due bigint
) language plpgsql as $$
declare x record; e idv.entries; m record; v_lane text; v_made text[]; v_related text;
begin
  perform idv.guard();
  select * into x from json_to_record(p_entry::json) as r(id text, lane text, key text, digest text,
    aliases json, related text, name text, "receivedName" text, "occurredAt" bigint, metadata int);
  kind := 'lost';
  select n.lane into v_lane from idv.entries n where n.id = x.id;
  if not found then return; end if;
  v_made := idv.lock_lanes(array(
    select distinct l collate "C" from unnest(array[v_lane, x.lane]) l
    union select c.lane collate "C" from idv.entries c where c.conflict_of = x.id));
  select n.* into e from idv.entries n where n.id = x.id for no key update;
  if e.state = 'leased' and e.fence = p_fence and e.owner = p_owner then
    if e.erased then
      due := idv.skip(e.seq, e.lane, 'FORGOTTEN', p_now);
    else
      kind := 'stored';
      if e.conflict_of is null then
        select * into m from idv.meet(
          e.id, e.stored_at, true, x.key, x.digest, x.aliases, x.lane, x.related);
        kind := case when m.kept then m.kind else 'duplicate' end;
      end if;
    end if;
  end if;
  if kind = 'duplicate' then
    delete from idv.contents c where c.seq = e.seq;
    update idv.entries n set erased = true, failures = null where n.seq = e.seq;
    update idv.keys k set digest = '' where k.entry = e.id;
    -- Its evidence is of the first one by now, whose entity is known.
    update idv.entries n set conflict_of = m.first where n.conflict_of = e.id;
    due := idv.skip(e.seq, e.lane, 'FORGOTTEN', p_now);
  elsif kind <> 'lost' then
    v_related := idv.relate(x.lane, x.related, e.stored_at);
    update idv.contents c set metadata = substring(p_data from 1 for x.metadata),
      body = substring(p_data from x.metadata + 1) where c.seq = e.seq;
    update idv.entries n set lane = x.lane, related = coalesce(v_related, n.related), name = x.name,
      received_name = x."receivedName", occurred_at = x."occurredAt" where n.seq = e.seq;
    if kind = 'conflict' then
      update idv.entries n set state = 'skipped', reason = 'CONFLICT', conflict_of = m.first,
        settled_at = p_now, due = null, failures = null where n.seq = e.seq;
      perform idv.moved('leased', 'skipped');
      due := idv.advance(e.lane, p_now);
    else
      -- As new: the release takes one attempt.
      update idv.entries n set attempt = 1, failures = null where n.seq = e.seq;
      due := idv.release(e.seq, e.lane, p_now);
      due := least(due, idv.enter(e.seq, x.lane, p_now));
    end if;
  end if;
  delete from idv.lanes l where l.lane = any(v_made) and l.head is null;
end $$;
