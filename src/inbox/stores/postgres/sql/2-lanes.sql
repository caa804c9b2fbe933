-- Shared by the other functions: the state of a transaction, lanes and their heads, counts.

-- Called first by every function that changes something. One snapshot for a whole function would not
-- see what the lane's lock has waited for. Its commit is waited for, whatever the session prefers.
create function idv.guard() returns void language plpgsql as $$
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = '25001',
      message = 'the inbox needs transactions of isolation level read committed';
  end if;
  if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end $$;

create function idv.recall(p_name text, p_initial bytea) returns void language plpgsql as $$
begin
  perform idv.guard();
  insert into idv.settings values (p_name, p_initial) on conflict do nothing;
end $$;

create function idv.remember(p_name text, p_value bytea) returns void language plpgsql as $$
begin
  perform idv.guard();
  insert into idv.settings values (p_name, p_value) on conflict (name) do update set value = p_value;
end $$;

create function idv.clock() returns bigint language sql volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000)::bigint
$$;

-- When a stored entry is due at the head of its lane: never in the future. A process whose time is
-- ahead, because this clock was set back, would hold the whole lane for as long as the step was.
create function idv.stored_due(p_at bigint) returns bigint language sql volatile as $$
  select least(p_at, idv.clock())
$$;

create function idv.count(
  p_stored int, p_leased int, p_retry int, p_done int, p_dead int, p_skipped int
) returns void language sql as $$
  insert into idv.counts select x.state, x.n from (values
    ('stored', p_stored), ('leased', p_leased), ('retry', p_retry),
    ('done', p_done), ('dead', p_dead), ('skipped', p_skipped)) as x(state, n) where x.n <> 0
$$;

create function idv.moved(p_from text, p_to text) returns void language sql as $$
  insert into idv.counts
    select x.state, x.n from (values (p_from, -1), (p_to, 1)) as x(state, n) where p_from <> p_to
$$;

-- Another that does the same at once keeps what it has.
create function idv.fold() returns void language plpgsql as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  with mine as (select c.ctid as at from idv.counts c for update skip locked),
    gone as (delete from idv.counts c using mine where c.ctid = mine.at returning c.state, c.n)
    insert into idv.counts select state, sum(n) from gone group by state having sum(n) <> 0;
end $$;

-- Locks those that are there, in the order in which all do it.
create function idv.hold_lanes(p_lanes text[]) returns void language plpgsql as $$
begin
  perform 1 from idv.lanes l where l.lane = any(p_lanes) order by l.lane for no key update;
end $$;

-- The oldest open entry becomes the head; a lane without any is gone. The lane must be locked.
create function idv.advance(p_lane text, p_now bigint) returns bigint language plpgsql as $$
declare v record; v_due bigint;
begin
  select e.seq, e.state, coalesce(e.due, e.stored_at) as due into v from idv.entries e
    where e.lane = p_lane and e.seq >= coalesce((select floor from idv.lanes where lane = p_lane), 0)
    and e.state in ('stored', 'leased', 'retry') order by e.seq limit 1;
  if not found then
    delete from idv.lanes where lane = p_lane;
    return null;
  end if;
  v_due := case v.state when 'leased' then null
    when 'stored' then idv.stored_due(least(v.due, p_now)) else v.due end;
  update idv.lanes set head = v.seq, floor = v.seq, due = v_due where lane = p_lane;
  return v_due;
end $$;

-- An open entry takes its place by arrival, unless the head stays where it is: leased, or dead and
-- in the way. Gives the time at which the lane is due then. The lane must be locked.
create function idv.enter(p_seq bigint, p_lane text, p_now bigint) returns bigint
language plpgsql as $$
declare v_head text;
begin
  update idv.lanes l set floor = least(l.floor, p_seq) where l.lane = p_lane;
  select h.state into v_head from idv.lanes l join idv.entries h on h.seq = l.head
    where l.lane = p_lane;
  if v_head in ('leased', 'dead') then return null; end if;
  return idv.advance(p_lane, p_now);
end $$;

-- Entries that name no relation inherit the one that another entry of their lane names.
create function idv.relate(p_lane text, p_related text, p_at bigint) returns text
language plpgsql as $$
declare v_known text;
begin
  select related into v_known from idv.relations where lane = p_lane;
  if p_related is null then return v_known; end if;
  insert into idv.relations values (p_lane, p_related, p_at)
    on conflict (lane) do update set related = excluded.related, at = excluded.at;
  if v_known is null then
    update idv.entries n set related = p_related where n.related is null and n.seq in (
      select o.seq from idv.entries o where o.lane = p_lane and o.related is null
        order by o.seq desc limit 500);
  end if;
  return p_related;
end $$;

-- Sets an entry aside; a lane whose head it was goes on. Both must be locked.
create function idv.skip(p_seq bigint, p_lane text, p_reason text, p_now bigint) returns bigint
language plpgsql as $$
declare v_was text; v_due bigint;
begin
  select state into v_was from idv.entries where seq = p_seq;
  update idv.entries set state = 'skipped', reason = p_reason, settled_at = p_now, due = null
    where seq = p_seq;
  perform idv.moved(v_was, 'skipped');
  if exists (select 1 from idv.lanes where lane = p_lane and head = p_seq) then
    v_due := idv.advance(p_lane, p_now);
  end if;
  return v_due;
end $$;
