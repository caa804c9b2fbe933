-- Chooses the lanes that a claim takes: those that are due, the longest waiting first, while tenants
-- take turns.

-- Tenants with lanes that are due: those after the one that was served last, and then the others.
-- Each is two steps in an index, however many lanes wait; `last` where there may be more behind it.
create function idv.tenants(p_now bigint, p_from bigint, p_served text, out tenants text[],
  out last text) language plpgsql as $$
declare v_next text; v_after text := p_served; v_round boolean := false; v_looked int := 0;
begin
  tenants := '{}';
  while v_looked < 256 and cardinality(tenants) < 32 loop
    select x.tenant into v_next from idv.lanes x
      where x.due is not null and x.due >= p_from and x.tenant > v_after order by x.tenant limit 1;
    if not found then
      if v_round then return; end if;
      -- Lanes without a tenant come before those with one.
      v_next := ''; v_round := true;
    elsif v_round and v_next > p_served collate "C" then return;
    end if;
    perform 1 from idv.lanes x where x.tenant = v_next and x.due is not null and x.due >= p_from
      and x.due <= p_now limit 1;
    if found then tenants := tenants || v_next; end if;
    v_after := v_next; v_looked := v_looked + 1;
  end loop;
  last := v_after;
end $$;

-- Waits for one lane that deliveries hold, because it may never be free otherwise. Its block that
-- catches is a subtransaction: in `claim` it would make a multixact of every row that changes.
create function idv.await_due(p_now bigint)
returns table (lane text, head bigint, tenant text, turn int, place int) language plpgsql as $$
begin
  perform set_config('lock_timeout', '1s', true);
  -- One alone: who waits while it holds another may wait in a circle.
  return query select x.lane, x.head, x.tenant, 0, 0 from idv.lanes x
    where x.due is not null and x.due >= 0 and x.due <= p_now
    order by x.due, x.head limit 1 for no key update;
exception when lock_not_available then
  return;
end $$;

-- Locks lanes that are due and that no other transaction holds, in whole rounds of tenants. A row
-- without a lane names the tenant that was read last in vain.
create function idv.due(p_now bigint, p_from bigint, p_limit int, p_served text)
returns table (lane text, head bigint, tenant text, turn int, place int) language plpgsql as $$
declare
  v_tenants text[]; v_last text; v_active int[]; v_still int[];
  v_dues bigint[]; v_heads bigint[]; v_left int := p_limit; v_rounds int; v_turn int := 0;
  v_found int; l record;
begin
  select t.tenants, t.last into v_tenants, v_last from idv.tenants(p_now, p_from, p_served) t;
  v_active := array(select generate_subscripts(v_tenants, 1));
  v_dues := array_fill(p_from, array[cardinality(v_tenants)]);
  v_heads := array_fill(-1::bigint, array[cardinality(v_tenants)]);
  while v_left > 0 and cardinality(v_active) > 0 loop
    v_rounds := greatest(1, v_left / cardinality(v_active));
    v_still := '{}';
    foreach place in array v_active loop
      exit when v_left = 0;
      v_found := 0;
      for l in select x.lane, x.head, x.due from idv.lanes x
          where x.tenant = v_tenants[place] and x.due is not null
          and (x.due, x.head) > (v_dues[place], v_heads[place]) and x.due <= p_now
          order by x.due, x.head limit v_rounds for no key update skip locked loop
        lane := l.lane; head := l.head; tenant := v_tenants[place]; turn := v_turn + v_found;
        return next;
        v_found := v_found + 1;
        v_dues[place] := l.due; v_heads[place] := l.head;
      end loop;
      v_left := v_left - v_found;
      if v_found = v_rounds then v_still := v_still || place; end if;
    end loop;
    v_active := v_still;
    v_turn := v_turn + v_rounds;
  end loop;
  if v_left = p_limit and v_last is not null then
    lane := null; tenant := v_last;
    return next;
  end if;
end $$;

-- Leases the heads of lanes that are due. Statements over arrays find rows one by one: the planner
-- does not know how few are asked for, and would hash whole tables. Below p_from the index has only
-- dead rows. A claim whose answer is late finds its ticket voided.
create function idv.claim(
  p_owner int, p_ticket bigint, p_now bigint, p_until bigint, p_limit int, p_from bigint,
  p_wait boolean, p_served text
) returns table (id text, fence int, attempt int, seq bigint, name text, source text, occurred_at bigint,
  stored_at bigint, metadata text, body text, handled text, failed text, gap boolean, is_last boolean,
  mark_at bigint, mark_final boolean, mark_decision text, served text, next bigint) language plpgsql as $$
declare
  v_lanes text[]; v_heads bigint[]; v_taken bigint[]; v_voided bigint; v_stored int := 0;
  v_retry int := 0; v_served text; v_lane text; v_tenants text[]; v_fit int;
begin
  perform idv.guard();
  -- Others keep by this clock, whatever the time is that this process goes by.
  p_from := least(p_from, idv.clock() - 3000);
  -- The first call after an outage may be a claim: without a sign of life it would lapse at once.
  update idv.owners o set watched = e.watched, gaps = e.gaps, seen = idv.clock()
    from idv.owners e where o.owner = p_owner and e.owner = 0
    and (e.watched - o.watched > 6000 or e.gaps > o.gaps);
  select o.voided into v_voided from idv.owners o where o.owner = p_owner for share;
  if v_voided is null or v_voided >= p_ticket then
    raise exception using errcode = 'P0V01', message = 'this claim was given up';
  end if;
  if p_wait then
    select array_agg(x.lane), array_agg(x.head) into v_lanes, v_heads from idv.await_due(p_now) x;
  else
    select array_agg(x.lane order by x.turn, x.place) filter (where x.lane is not null),
        array_agg(x.head order by x.turn, x.place) filter (where x.lane is not null),
        array_agg(x.tenant order by x.turn, x.place) filter (where x.lane is not null),
        (array_agg(x.tenant order by x.turn desc, x.place desc))[1]
      into v_lanes, v_heads, v_tenants, v_served from idv.due(p_now, p_from, p_limit, p_served) x;
  end if;
  -- One answer holds them all: beyond 16777216 bytes the next claim takes the rest.
  select max(x.at) into v_fit from (
    select h.at, sum(e.bytes) over (order by h.at) - e.bytes as before
      from unnest(v_heads) with ordinality h(seq, at) join idv.entries e on e.seq = h.seq) x
    where x.before < 16777216;
  if v_fit < cardinality(v_heads) then
    v_served := v_tenants[v_fit]; v_lanes := v_lanes[1:v_fit]; v_heads := v_heads[1:v_fit];
  end if;
  if v_lanes is not null then
    select array_agg(x.seq), count(*) filter (where x.state = 'stored'),
        count(*) filter (where x.state = 'retry') into v_taken, v_stored, v_retry
      from (select e.seq, e.state from idv.entries e where e.seq = any(v_heads)
        and e.state in ('stored', 'retry') for no key update) x;
    if cardinality(v_heads) > v_stored + v_retry then
      for v_lane in select x.lane from unnest(v_lanes, v_heads) x(lane, head)
          where not x.head = any(coalesce(v_taken, '{}')) loop
        perform idv.advance(v_lane, p_now);
      end loop;
    end if;
    update idv.lanes x set due = null where x.lane = any(v_lanes) and x.head = any(v_taken);
    return query with leased as (
      update idv.entries x set state = 'leased', attempt = x.attempt + 1, fence = x.fence + 1,
        owner = p_owner, ticket = p_ticket, lease_until = p_until, due = null
        where x.seq = any(v_taken) returning x.*
    ) select e.id, e.fence, e.attempt, e.seq, e.name, e.source, e.occurred_at, e.stored_at,
      encode(c.metadata, 'base64'), encode(c.body, 'base64'), (select json_agg(h.handler order by h.handler)::text from idv.handled h
        where h.seq = e.seq),
      (select json_agg(f.one ->> 'handler')::text from json_array_elements(e.failures) f(one)),
      exists (select 1 from idv.entries d
        where d.lane = e.lane and d.seq < e.seq and d.state = 'dead'),
      not exists (select 1 from idv.entries o
        where o.lane = e.lane and o.seq > e.seq and o.state in ('stored', 'leased', 'retry')),
      m.at, m.final, m.decision, null::text, null::bigint
      from leased e left join idv.contents c on c.seq = e.seq left join idv.marks m on m.lane = e.lane
      order by array_position(v_heads, e.seq);
  end if;
  perform idv.count(-v_stored, v_stored + v_retry, -v_retry, 0, 0, 0);
  -- The last row says when the next lane is due, and which tenant was served last.
  id := null; served := v_served;
  next := (select x.due from idv.lanes x where x.due is not null and x.due >= p_from
    order by x.due limit 1);
  return next;
end $$;

-- Back as it came: no attempt is counted. Lane and entry must be locked.
create function idv.release(p_seq bigint, p_lane text, p_at bigint) returns bigint
language plpgsql as $$
begin
  update idv.entries set state = 'stored', attempt = attempt - 1, due = idv.stored_due(p_at)
    where seq = p_seq;
  perform idv.moved('leased', 'stored');
  return idv.advance(p_lane, p_at);
end $$;

-- Voids every claim of an owner that is still on its way, waits for those that are under way, and
-- gives back what the lost ones took.
create function idv.recover(p_owner int, p_voided bigint, p_lost text, p_now bigint) returns int
language plpgsql as $$
declare e record; v record; v_back int := 0;
begin
  perform idv.guard();
  update idv.owners set voided = greatest(voided, p_voided) where owner = p_owner;
  for e in select x.seq, x.lane from idv.entries x where x.state = 'leased' and x.owner = p_owner
      and x.ticket in (select t::bigint from json_array_elements_text(p_lost::json) t)
      order by x.lane, x.seq loop
    perform idv.lock_lanes(array[e.lane]);
    select x.state, x.owner, x.erased into v from idv.entries x where x.seq = e.seq for no key update;
    if v.state <> 'leased' or v.owner <> p_owner then continue; end if;
    if v.erased then
      perform idv.skip(e.seq, e.lane, 'FORGOTTEN', p_now);
    else
      perform idv.release(e.seq, e.lane, p_now);
      v_back := v_back + 1;
    end if;
  end loop;
  return v_back;
end $$;
