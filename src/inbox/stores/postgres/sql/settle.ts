// Results of attempts: settlements as a group, checkpoints, leases that go on.

export const settle = [
  /*
   * Takes a settlement from the owner of the lease alone: after a failover a fence may be given
   * out twice. The same settlement again answers as the first for as long as the entry stayed so.
   */
  `create function idv.settle_1(p_settlements text)
returns table (ord int, taken boolean, due bigint) language plpgsql as $$
declare
  s record; e idv.entries; v_retry int := 0; v_done int := 0; v_dead int := 0; v_skipped int := 0;
begin
  perform idv.guard_1();
  for s in select x.*, y.seq, y.lane from json_to_recordset(p_settlements::json) as x(
      ord int, id text, fence int, owner int, "to" text, at bigint, handled json,
      reason text, failures json, due bigint, hold boolean, "highWaterMark" json)
      left join idv.entries y on y.id = x.id order by y.lane, x.ord loop
    ord := s.ord; taken := false; due := null;
    if s.seq is not null then
      perform 1 from idv.lanes l where l.lane = s.lane for no key update;
      select * into e from idv.entries x where x.seq = s.seq for no key update;
      if e.state = 'leased' and e.fence = s.fence and e.owner = s.owner then
        taken := not e.erased;
        due := idv.end_attempt_1(e, s."to", s.at, s.handled, s.reason, s.failures, s.due, s.hold,
          s."highWaterMark");
        if taken then
          -- Counted once for the group: two rows for each settlement would be half of its work.
          v_retry := v_retry + (s."to" = 'retry')::int; v_done := v_done + (s."to" = 'done')::int;
          v_dead := v_dead + (s."to" = 'dead')::int;
          v_skipped := v_skipped + (s."to" = 'skipped')::int;
        end if;
      elsif e.fence = s.fence and e.owner = s.owner and not e.erased then
        taken := e.state = case s."to" when 'released' then 'stored' else s."to" end;
      end if;
    end if;
    return next;
  end loop;
  perform idv.count_1(
    0, -(v_retry + v_done + v_dead + v_skipped), v_retry, v_done, v_dead, v_skipped);
end $$`,

  /* Gives the time at which the lane is due next; the caller counts. */
  `create function idv.end_attempt_1(
  e idv.entries, p_to text, p_at bigint, p_handled json, p_reason text, p_failures json,
  p_due bigint, p_hold boolean, p_mark json
) returns bigint language plpgsql as $$
begin
  if e.erased then return idv.skip_1(e.seq, e.lane, 'FORGOTTEN', p_at); end if;
  insert into idv.handled select e.seq, h from json_array_elements_text(p_handled) h
    on conflict do nothing;
  if p_to = 'released' then return idv.release_1(e.seq, e.lane, p_at); end if;
  if p_to = 'retry' then
    update idv.entries set state = 'retry', due = p_due, reason = p_reason, failures = p_failures
      where seq = e.seq;
    update idv.lanes set due = p_due where lane = e.lane;
    return p_due;
  end if;
  update idv.entries set state = p_to, settled_at = p_at, reason = p_reason, due = null,
    failures = case p_to when 'dead' then p_failures end where seq = e.seq;
  if p_to = 'done' and p_mark is not null then
    insert into idv.marks
      values (e.lane, (p_mark ->> 'at')::bigint, (p_mark ->> 'final')::boolean, p_at,
        p_mark ->> 'decision')
      on conflict (lane) do update set at = greatest(idv.marks.at, excluded.at),
      final = idv.marks.final or excluded.final, touched = excluded.touched,
      decision = coalesce(excluded.decision, idv.marks.decision);
  end if;
  if p_to = 'dead' and p_hold then return null; end if;
  return idv.advance_1(e.lane, p_at);
end $$`,

  /* Also within the transaction of a handler, so that its effects commit with it. */
  `create function idv.checkpoint_1(p_owner int, p_id text, p_fence int, p_handler text)
returns boolean language plpgsql as $$
declare v_seq bigint;
begin
  perform idv.guard_1();
  select seq into v_seq from idv.entries where id = p_id and fence = p_fence and owner = p_owner
    and state = 'leased' and not erased for share;
  if not found then return false; end if;
  insert into idv.handled values (v_seq, p_handler) on conflict do nothing;
  return true;
end $$`,

  `create function idv.renew_1(p_owner int, p_leases text, p_until bigint) returns void
language plpgsql as $$
begin
  -- In the order in which settlements lock them.
  perform 1 from idv.entries e where e.id in (
      select x.id from json_to_recordset(p_leases::json) as x(id text, fence int))
    order by e.lane, e.seq for no key update;
  update idv.entries e set lease_until = p_until
    from json_to_recordset(p_leases::json) as x(id text, fence int)
    where e.id = x.id and e.fence = x.fence and e.owner = p_owner and e.state = 'leased';
end $$`,
] as const
