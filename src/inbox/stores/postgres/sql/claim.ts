// Takes the heads of lanes that are due, each with a lease; and gives back what a claim took whose
// answer was lost.

export const claim = [
  /*
   * Lanes that are due, locked. Those that another transaction holds are passed over, or waited for:
   * one that deliveries arrive in without a pause would never be free.
   */
  `create function idv.due_1(p_now bigint, p_from bigint, p_limit int, p_wait boolean)
returns table (lane text, head bigint, due bigint)
language plpgsql set jit = off set enable_seqscan = off as $$
begin
  if not p_wait then
    return query select x.lane, x.head, x.due from idv.lanes x
      where x.due is not null and x.due >= p_from and x.due <= p_now
      order by x.due, x.head limit p_limit for no key update skip locked;
    return;
  end if;
  perform set_config('lock_timeout', '1s', true);
  -- One alone: who waits while it holds another may wait in a circle.
  return query select x.lane, x.head, x.due from idv.lanes x
    where x.due is not null and x.due >= p_from and x.due <= p_now
    order by x.due, x.head limit 1 for no key update;
exception when lock_not_available then
  return;
end $$`,

  /*
   * A loop over rows and not one statement: with a limit that is unknown to the planner it would
   * hash the whole tables. Below p_from nothing waits that is known of: dead rows of an index are
   * passed over there. A claim whose answer is late finds its ticket voided.
   */
  `create function idv.claim_1(
  p_owner int, p_ticket int, p_now bigint, p_until bigint, p_limit int, p_from bigint,
  p_wait boolean
) returns table (id text, fence int, attempt int, name text, source text, occurred_at bigint,
  stored_at bigint, metadata bytea, body bytea, handled text, gap boolean, mark_at bigint,
  mark_final boolean, mark_decision text, due bigint, next bigint)
language plpgsql set jit = off set enable_seqscan = off as $$
declare l record; e record; v_was text; v_voided int; v_stored int := 0; v_retry int := 0;
begin
  perform idv.guard_1();
  select o.voided into v_voided from idv.owners o where o.owner = p_owner for share;
  if v_voided is null or v_voided >= p_ticket then
    raise exception using errcode = 'P0V01', message = 'this claim was given up';
  end if;
  for l in select x.* from idv.due_1(p_now, p_from, p_limit, p_wait) x loop
    select x.state into v_was from idv.entries x where x.seq = l.head for no key update;
    if not found or v_was not in ('stored', 'retry') then
      perform idv.advance_1(l.lane, p_now);
      continue;
    end if;
    update idv.lanes x set due = null where x.lane = l.lane;
    update idv.entries x set state = 'leased', attempt = x.attempt + 1, fence = x.fence + 1,
      owner = p_owner, ticket = p_ticket, lease_until = p_until, due = null
      where x.seq = l.head returning x.* into e;
    if v_was = 'stored' then v_stored := v_stored - 1; else v_retry := v_retry - 1; end if;
    id := e.id; fence := e.fence; attempt := e.attempt; name := e.name; source := e.source;
    occurred_at := e.occurred_at; stored_at := e.stored_at; due := l.due;
    metadata := null; body := null; mark_at := null; mark_final := null; mark_decision := null;
    select c.metadata, c.body into metadata, body from idv.contents c where c.seq = l.head;
    handled := (select json_agg(h.handler order by h.handler) from idv.handled h where h.seq = l.head);
    gap := exists (select 1 from idv.entries d
      where d.lane = l.lane and d.seq < l.head and d.state = 'dead');
    select m.at, m.final, m.decision into mark_at, mark_final, mark_decision
      from idv.marks m where m.lane = l.lane;
    return next;
  end loop;
  perform idv.count_1(v_stored, -v_stored - v_retry, v_retry, 0, 0, 0);
  -- The last row says when the next lane is due.
  id := null; metadata := null; body := null;
  next := (select x.due from idv.lanes x where x.due is not null and x.due >= p_from
    order by x.due limit 1);
  return next;
end $$`,

  /* Back as it came: no attempt is counted. Lane and entry must be locked. */
  `create function idv.release_1(p_seq bigint, p_lane text, p_at bigint) returns bigint
language plpgsql as $$
begin
  update idv.entries set state = 'stored', attempt = attempt - 1, due = p_at where seq = p_seq;
  perform idv.moved_1('leased', 'stored');
  update idv.lanes set due = p_at where lane = p_lane;
  return p_at;
end $$`,

  /*
   * Voids every claim of an owner that is still on its way, waits for those that are under way, and
   * gives back what the lost ones took.
   */
  `create function idv.recover_1(p_owner int, p_voided int, p_lost text, p_now bigint) returns int
language plpgsql as $$
declare e record; v record; v_back int := 0;
begin
  perform idv.guard_1();
  update idv.owners set voided = greatest(voided, p_voided) where owner = p_owner;
  for e in select x.seq, x.lane from idv.entries x where x.state = 'leased' and x.owner = p_owner
      and x.ticket in (select t::int from json_array_elements_text(p_lost::json) t)
      order by x.lane, x.seq loop
    perform idv.lock_lane_1(e.lane, e.seq);
    select x.state, x.owner, x.erased into v from idv.entries x where x.seq = e.seq for no key update;
    if v.state <> 'leased' or v.owner <> p_owner then continue; end if;
    if v.erased then
      perform idv.skip_1(e.seq, e.lane, 'FORGOTTEN', p_now);
    else
      perform idv.release_1(e.seq, e.lane, p_now);
      v_back := v_back + 1;
    end if;
  end loop;
  return v_back;
end $$`,
] as const
