// Who is at work: signs of life by the database's clock, and the leases of those who are gone.

export const owners = [
  /*
   * \`since\` is the start of an unbroken row of signs. Owner 0 stands for all of them: while any
   * is heard its row goes on. Gives the database's time.
   */
  `create function idv.beat_1(p_owner int, p_gap int) returns bigint language plpgsql as $$
declare v_now bigint := idv.clock_1();
begin
  perform set_config('synchronous_commit', 'off', true);
  perform idv.fold_1();
  insert into idv.owners as o (owner, since, seen)
    select x, v_now, v_now from unnest(array[p_owner, 0]) x
    on conflict (owner) do update set seen = v_now,
    since = case when v_now - o.seen between -p_gap and p_gap then o.since else v_now end;
  return v_now;
end $$`,

  /* From now on its leases lapse at once. */
  `create function idv.leave_1(p_owner int) returns void language sql as $$
  delete from idv.owners where owner = p_owner
$$`,

  /*
   * The silence of an owner counts only while others were heard: after an outage of the database
   * or of the network all were silent, and their handlers may have gone on.
   */
  `create function idv.lapsed_1(p_owner int, p_now bigint, p_grace int)
returns table (id text, fence int, attempt int, name text, stored_at bigint, owner int)
language sql as $$
  with watch as (
    select coalesce(bool_or(w.now - o.since >= p_grace), false) as long, max(w.now) as now
    from (select idv.clock_1() as now) w left join idv.owners o on o.owner = 0
  )
  select e.id, e.fence, e.attempt, e.name, e.stored_at, e.owner
  from watch, idv.entries e left join idv.owners o on o.owner = e.owner
  where e.state = 'leased' and case
    when e.owner = p_owner then e.lease_until <= p_now
    when o.owner is null then true
    else watch.long and (e.lease_until <= p_now or abs(watch.now - o.seen) > p_grace)
  end
  order by e.seq
$$`,
] as const
