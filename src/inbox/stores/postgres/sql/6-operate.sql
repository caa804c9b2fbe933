-- Functions for operators and for retention: reopen, dismiss, forget, align, purge.

create function idv.reopen(
  p_ids text, p_from text, p_now bigint, p_replay boolean, p_aside boolean) returns int
language plpgsql as $$
declare e record; v record; v_opened int := 0; v_made text[];
begin
  perform idv.guard();
  for e in select x.seq, x.lane from idv.entries x
      where x.id in (select t from json_array_elements_text(p_ids::json) t) order by x.lane, x.seq loop
    v_made := idv.lock_lanes(array[e.lane]);
    select x.state, x.reason, x.lane into v from idv.entries x where x.seq = e.seq for no key update;
    if v.state in (select t from json_array_elements_text(p_from::json) t)
        and (p_aside or coalesce(v.reason, '') not in ('CONFLICT', 'DISMISSED'))
        -- Its payload may wait for the page that erases it.
        and v.reason is distinct from 'FORGOTTEN'
        -- Another lane may be its own since.
        and v.lane = e.lane and exists (select 1 from idv.contents c where c.seq = e.seq) then
      update idv.entries x set state = 'stored', attempt = 0, due = p_now, reason = null,
        failures = null, settled_at = null, generation = x.generation + 1,
        source = case when p_replay then 'replay' else x.source end where x.seq = e.seq;
      if p_replay then delete from idv.handled h where h.seq = e.seq; end if;
      perform idv.moved(v.state, 'stored');
      v_opened := v_opened + 1;
      perform idv.enter(e.seq, e.lane, p_now);
    else
      delete from idv.lanes l where l.lane = any(v_made) and l.head is null;
    end if;
  end loop;
  return v_opened;
end $$;

create function idv.dismiss(p_id text, p_now bigint) returns boolean language plpgsql as $$
declare e record; v_state text;
begin
  perform idv.guard();
  select x.seq, x.lane into e from idv.entries x where x.id = p_id;
  if not found then return false; end if;
  perform 1 from idv.lanes l where l.lane = e.lane for no key update;
  select x.state into v_state from idv.entries x where x.seq = e.seq for no key update;
  if v_state <> 'dead' then return false; end if;
  perform idv.skip(e.seq, e.lane, 'DISMISSED', p_now);
  return true;
end $$;

-- Forgets a page of 1,000 entries that were there at the first page; deliveries wait for one page at
-- most. Whole lanes, because a verification may have named two clients, one after the other. A leased
-- entry keeps its lane until its holder is gone: a lane never has two at work.
create function idv.forget(
  p_lane text, p_now bigint, p_none boolean, p_open boolean, p_at_lane text, p_at_seq bigint,
  p_newest bigint)
returns table (forgotten int, newest bigint, at_lane text, at_seq bigint) language plpgsql as $$
declare e record; v record; v_read int := 0; v_evidence int := 0;
begin
  perform idv.guard();
  forgotten := 0;
  newest := coalesce(p_newest, (select max(seq) from idv.entries), 0);
  for e in with meant as (
      select distinct m.lane from idv.entries m
        where case when p_open then m.lane <= p_at_lane else m.lane >= p_at_lane end and (
        m.lane = p_lane or (m.lane > p_lane || '.' and m.lane < p_lane || '/')
        or m.related = p_lane or (m.related > p_lane || '.' and m.related < p_lane || '/'))
      union select r.lane from idv.relations r
        where case when p_open then r.lane <= p_at_lane else r.lane >= p_at_lane end and (r.related collate "C" = p_lane
        or (r.related collate "C" > p_lane || '.' and r.related collate "C" < p_lane || '/'))
    ), x as materialized (
      select n.seq, n.id, n.lane, n.erased from meant join idv.entries n on n.lane = meant.lane
      where n.seq <= newest and not (p_none and strpos(n.lane, '.') > 0) and case
        when p_open then (n.lane, n.seq) < (p_at_lane, p_at_seq)
          and n.state in ('stored', 'leased', 'retry', 'dead')
        else (n.lane, n.seq) > (p_at_lane, p_at_seq) end
      order by case when p_open then n.lane end desc, case when p_open then n.seq end desc, n.lane, n.seq
      limit 1000
    ) select x.seq, x.id, x.lane, x.erased, true as own from x
      -- Evidence that nobody could read is in a lane of its own.
      union all (select c.seq, c.id, c.lane, false, false from x
        join idv.entries c on c.conflict_of = x.id where not p_open and c.name is null and not c.erased
        limit 1000)
      order by lane, seq loop
    if e.own then
      v_read := v_read + 1;
      if v_read = 1 or not p_open then
        at_lane := e.lane;
        at_seq := e.seq;
      end if;
    else
      v_evidence := v_evidence + 1;
    end if;
    continue when e.erased;
    perform 1 from idv.lanes l where l.lane = e.lane for no key update;
    select x.state, x.erased into v from idv.entries x where x.seq = e.seq for no key update;
    continue when v.erased;
    if not p_open or v.state = 'leased' then
      delete from idv.contents c where c.seq = e.seq;
      update idv.entries x set erased = true, failures = null where x.seq = e.seq;
      update idv.keys k set digest = '' where k.entry = e.id;
      forgotten := forgotten + 1;
    end if;
    if v.state in ('stored', 'retry', 'dead') then
      perform idv.skip(e.seq, e.lane, 'FORGOTTEN', p_now);
    end if;
  end loop;
  if v_evidence = 1000 then
    /* The same page again: it has more. */
    at_lane := p_at_lane;
    at_seq := p_at_seq;
  elsif v_read < 1000 then
    at_lane := null;
  end if;
  return next;
end $$;

-- Lanes are brought in line page by page: whatever waits, no statement takes long, and nobody
-- waits for many locks. The size of a page stands in the text, for the plans depend on it.
create function idv.align_retries(p_now bigint, p_latest bigint) returns boolean
language plpgsql as $$
declare v_entries bigint[]; v_lanes text[];
begin
  perform idv.guard();
  select array_agg(o.seq), array_agg(o.lane) into v_entries, v_lanes from (
    select e.seq, e.lane from idv.entries e where e.state = 'retry' and e.due > p_latest limit 1000) o;
  perform idv.hold_lanes(v_lanes);
  update idv.entries e set due = p_now
    where e.seq = any(v_entries) and e.state = 'retry' and e.due > p_latest;
  return coalesce(cardinality(v_entries), 0) = 1000;
end $$;

-- Most lanes that wait are in line already: each page says behind which lane the next begins.
create function idv.align_lanes(p_now bigint, p_latest bigint, p_due bigint, p_head bigint)
returns table (more boolean, at_due bigint, at_head bigint) language plpgsql as $$
declare v_lanes text[];
begin
  perform idv.guard();
  select count(*) = 1000,
      (array_agg(o.due order by o.due desc, o.head desc))[1],
      (array_agg(o.head order by o.due desc, o.head desc))[1],
      array_agg(o.lane) filter (where e.state = 'stored' or o.due > p_latest)
    into more, at_due, at_head, v_lanes from (
      select l.lane, l.due, l.head from idv.lanes l
        where l.due is not null and (l.due, l.head) > (p_due, p_head)
        order by l.due, l.head limit 1000
    ) o left join idv.entries e on e.seq = o.head;
  perform idv.hold_lanes(v_lanes);
  update idv.lanes l set due = case e.state when 'stored' then idv.stored_due(p_now) else p_now end
    from idv.entries e where l.lane = any(v_lanes) and e.seq = l.head
      and l.due > case e.state when 'stored' then p_now else p_latest end;
  return next;
end $$;

create function idv.free_lanes(p_now bigint) returns boolean language plpgsql as $$
declare v_lanes text[]; v_lane text;
begin
  perform idv.guard();
  select array_agg(o.lane order by o.lane) into v_lanes from (
    select l.lane from idv.entries e join idv.lanes l on l.lane = e.lane and l.head = e.seq
      where e.state = 'dead' limit 1000) o;
  foreach v_lane in array coalesce(v_lanes, '{}') loop
    perform 1 from idv.lanes l join idv.entries e on e.seq = l.head
      where l.lane = v_lane and e.state = 'dead' for no key update of l;
    if found then perform idv.advance(v_lane, p_now); end if;
  end loop;
  return coalesce(cardinality(v_lanes), 0) = 1000;
end $$;

-- One process at a time; another waits, or finds nothing to do. By a row that a role without rights
-- here cannot lock, as it could an advisory lock.
create function idv.purge(
  p_done bigint, p_dead bigint, p_keys bigint, p_limit int, p_wait boolean)
returns table (erased int, deleted int) language plpgsql as $$
declare v_entries int; v_done int; v_dead int; v_skipped int;
begin
  perform idv.guard();
  erased := 0; deleted := 0;
  if p_wait then
    perform 1 from idv.versions where version = 1 for no key update;
  else
    perform 1 from idv.versions where version = 1 for no key update skip locked;
    if not found then return next; return; end if;
  end if;
  with past as (
    select e.seq from idv.entries e where not e.erased and e.settled_at is not null
      and ((e.state = 'done' and e.settled_at < p_done)
        or (e.state in ('dead', 'skipped') and e.settled_at < p_dead))
      and not (e.state = 'dead' and exists (
        select 1 from idv.lanes l where l.lane = e.lane and l.head = e.seq))
      limit p_limit for no key update skip locked
  ), gone as (delete from idv.contents c using past where c.seq = past.seq)
  update idv.entries e set erased = true, failures = null from past where e.seq = past.seq;
  get diagnostics erased = row_count;
  delete from idv.keys k where k.key in (select q.key from idv.keys q where q.at < p_keys limit p_limit);
  get diagnostics deleted = row_count;
  with old as (
    select e.seq from idv.entries e where e.erased and e.stored_at < p_keys
      and e.state in ('done', 'dead', 'skipped')
      -- By it the evidence of its conflicts is forgotten.
      and not exists (select 1 from idv.entries c
        where c.conflict_of = e.id and c.name is null and not c.erased)
      limit greatest(0, p_limit - deleted)
      for update skip locked
  ), checkpoints as (delete from idv.handled h using old where h.seq = old.seq),
  ended as (delete from idv.entries e using old where e.seq = old.seq returning e.state)
  select count(*), count(*) filter (where state = 'done'), count(*) filter (where state = 'dead'),
    count(*) filter (where state = 'skipped') into v_entries, v_done, v_dead, v_skipped from ended;
  perform idv.count(0, 0, 0, -v_done, -v_dead, -v_skipped);
  deleted := deleted + v_entries;
  -- What may run again is compared with what was done after it. A relation of which there
  -- are entries stays: what comes next in its lane may name nobody again.
  if erased < p_limit and deleted < p_limit then
    delete from idv.marks m where m.touched < p_keys
      and not exists (select 1 from idv.entries e where e.lane = m.lane and not e.erased);
    delete from idv.relations r where r.at < p_keys
      and not exists (select 1 from idv.entries e where e.lane = r.lane);
  end if;
  -- Owner 0 stands for all of them.
  delete from idv.owners o where o.owner <> 0 and o.seen < idv.clock() - 86400000
    and not exists (select 1 from idv.entries e where e.state = 'leased' and e.owner = o.owner);
  return next;
end $$;
