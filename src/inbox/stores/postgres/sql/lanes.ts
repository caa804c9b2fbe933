// Shared by the other functions: the state of a transaction, lanes and their heads, counts.
import { mostEarlier } from '../../../entry.ts'
import { moveSetting } from '../../../move-state.ts'
import { oneByOne, ownPath } from './plans.ts'

/** The commit of this transaction is waited for, whatever the session prefers. */
const durably = `if current_setting('synchronous_commit') in ('off', 'local', 'remote_write') then
    perform set_config('synchronous_commit', 'on', true);
  end if;`

export const lanes = [
  /*
   * Called first by every function that changes entries. One snapshot for a whole function would not
   * see what the lane's lock has waited for. A process that was silent while the inbox was moved may
   * still have it open; the lock that this look takes on the settings is what a move waits for.
   */
  `create function idv.guard_1() returns void language plpgsql ${ownPath} as $$
declare v_move bytea;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = '25001',
      message = 'the inbox needs transactions of isolation level read committed';
  end if;
  ${durably}
  select s.value into v_move from idv.settings s where s.name = '${moveSetting}' and s.value <> '';
  if found then
    raise exception using message = 'the inbox was moved, or is being moved',
      errcode = case substring(v_move from 1 for 6) when 'moving' then 'P0V03' else 'P0V02' end;
  end if;
end $$`,

  /* Of a server that may lose commits: the commit of these two makes all before it durable. */
  `create function idv.recall_1(p_name text, p_initial bytea) returns void language plpgsql ${ownPath} as $$
begin
  ${durably}
  insert into idv.settings values (p_name, p_initial) on conflict do nothing;
end $$`,

  `create function idv.remember_1(p_name text, p_value bytea) returns void language plpgsql ${ownPath} as $$
begin
  ${durably}
  insert into idv.settings values (p_name, p_value) on conflict (name) do update set value = p_value;
end $$`,

  `create function idv.clock_1() returns bigint language sql ${ownPath} volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000)::bigint
$$`,

  /*
   * When a stored entry is due at the head of its lane: never in the future. A process whose time is
   * ahead, because this clock was set back, would hold the whole lane for as long as the step was.
   */
  `create function idv.stored_due_1(p_at bigint) returns bigint language sql ${ownPath} volatile as $$
  select least(p_at, idv.clock_1())
$$`,

  `create function idv.count_1(
  p_stored int, p_leased int, p_retry int, p_done int, p_dead int, p_skipped int
) returns void language sql ${ownPath} as $$
  insert into idv.counts select x.state, x.n from (values
    ('stored', p_stored), ('leased', p_leased), ('retry', p_retry),
    ('done', p_done), ('dead', p_dead), ('skipped', p_skipped)) as x(state, n) where x.n <> 0
$$`,

  `create function idv.moved_1(p_from text, p_to text) returns void language sql ${ownPath} as $$
  insert into idv.counts
    select x.state, x.n from (values (p_from, -1), (p_to, 1)) as x(state, n) where p_from <> p_to
$$`,

  /* Another that does the same at once keeps what it has. */
  `create function idv.fold_1() returns void language plpgsql ${ownPath} as $$
begin
  perform set_config('synchronous_commit', 'off', true);
  with mine as (select c.ctid as at from idv.counts c for update skip locked),
    gone as (delete from idv.counts c using mine where c.ctid = mine.at returning c.state, c.n)
    insert into idv.counts select state, sum(n) from gone group by state having sum(n) <> 0;
end $$`,

  /* Locks those that are there, in the order in which all do it. */
  `create function idv.hold_lanes_1(p_lanes text[]) returns void language plpgsql ${ownPath} as $$
begin
  perform 1 from idv.lanes l where l.lane = any(p_lanes) order by l.lane for no key update;
end $$`,

  /* Locks a lane and creates it if needed; true when it was created. */
  `create function idv.lock_lane_1(p_lane text, p_floor bigint) returns boolean language plpgsql ${ownPath} as $$
begin
  loop
    perform 1 from idv.lanes where lane = p_lane for no key update;
    if found then return false; end if;
    insert into idv.lanes (lane, floor) values (p_lane, p_floor) on conflict do nothing;
    if found then return true; end if;
  end loop;
end $$`,

  /* The oldest open entry becomes the head; a lane without any is gone. The lane must be locked. */
  `create function idv.advance_1(p_lane text, p_now bigint) returns bigint
language plpgsql ${ownPath} ${oneByOne} as $$
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
    when 'stored' then idv.stored_due_1(least(v.due, p_now)) else v.due end;
  update idv.lanes set head = v.seq, floor = v.seq, due = v_due where lane = p_lane;
  return v_due;
end $$`,

  /*
   * An open entry takes its place by arrival, unless the head stays where it is: leased, or dead and
   * in the way. Gives the time at which the lane is due then. The lane must be locked.
   */
  `create function idv.enter_1(p_seq bigint, p_lane text, p_now bigint) returns bigint
language plpgsql ${ownPath} as $$
declare v_head text;
begin
  update idv.lanes l set floor = least(l.floor, p_seq) where l.lane = p_lane;
  select h.state into v_head from idv.lanes l join idv.entries h on h.seq = l.head
    where l.lane = p_lane;
  if v_head in ('leased', 'dead') then return null; end if;
  return idv.advance_1(p_lane, p_now);
end $$`,

  /* Entries that name no relation inherit the one that another entry of their lane names. */
  `create function idv.relate_1(p_lane text, p_related text, p_at bigint) returns text
language plpgsql ${ownPath} as $$
declare v_known text;
begin
  select related into v_known from idv.relations where lane = p_lane;
  if p_related is null then return v_known; end if;
  insert into idv.relations values (p_lane, p_related, p_at)
    on conflict (lane) do update set related = excluded.related, at = excluded.at;
  if v_known is null then
    update idv.entries n set related = p_related where n.related is null and n.seq in (
      select o.seq from idv.entries o where o.lane = p_lane and o.related is null
        order by o.seq desc limit ${mostEarlier});
  end if;
  return p_related;
end $$`,

  /* Sets an entry aside; a lane whose head it was goes on. Both must be locked. */
  `create function idv.skip_1(p_seq bigint, p_lane text, p_reason text, p_now bigint) returns bigint
language plpgsql ${ownPath} as $$
declare v_was text; v_due bigint;
begin
  select state into v_was from idv.entries where seq = p_seq;
  update idv.entries set state = 'skipped', reason = p_reason, settled_at = p_now, due = null
    where seq = p_seq;
  perform idv.moved_1(v_was, 'skipped');
  if exists (select 1 from idv.lanes where lane = p_lane and head = p_seq) then
    v_due := idv.advance_1(p_lane, p_now);
  end if;
  return v_due;
end $$`,
] as const
