-- Who is at work: signs of life by the database's clock, and the leases of those who are gone.

-- Owner 0 stands for all: `watched` is the time for which any was heard, `gaps` counts silences longer
-- than p_gap, `since` is the end of the last one. An owner has both as of its last sign. Without a
-- worker it has no p_gap, because workers may be cut off meanwhile. Returns the database's time.
create function idv.beat(p_owner int, p_gap int) returns bigint language plpgsql as $$
declare v_now bigint := idv.clock(); v_watched bigint; v_gaps int;
begin
  perform set_config('synchronous_commit', 'off', true);
  perform idv.fold();
  if p_gap is null then
    select o.watched, o.gaps into v_watched, v_gaps from idv.owners o where o.owner = 0;
  else
    insert into idv.owners as o (owner, since, seen) values (0, v_now, v_now)
      on conflict (owner) do update set seen = v_now,
      watched = o.watched
        + case when v_now - o.seen between 0 and p_gap then v_now - o.seen else 0 end,
      gaps = o.gaps + (not v_now - o.seen between -p_gap and p_gap)::int,
      since = case when v_now - o.seen between -p_gap and p_gap then o.since else v_now end
      returning watched, gaps into v_watched, v_gaps;
  end if;
  insert into idv.owners as o (owner, since, seen, watched, gaps)
    values (p_owner, v_now, v_now, coalesce(v_watched, 0), coalesce(v_gaps, 0))
    on conflict (owner) do update set seen = v_now, watched = excluded.watched, gaps = excluded.gaps;
  return v_now;
end $$;

-- From now on its leases lapse at once.
create function idv.leave(p_owner int) returns void language sql as $$
  delete from idv.owners where owner = p_owner
$$;

-- An owner is gone once others were watched for the grace since its last sign: an outage does not
-- count. A lease that its living owner does not renew lapses when that had the time to reconnect, or,
-- where processes come and go as on a serverless host, at the second gap without a sign of it.
create function idv.lapsed(p_owner int, p_now bigint, p_grace int)
returns table (id text, fence int, attempt int, name text, stored_at bigint, owner int)
language sql as $$
  select e.id, e.fence, e.attempt, e.name, e.stored_at, e.owner
  from idv.entries e
    left join idv.owners o on o.owner = e.owner
    left join idv.owners everyone on everyone.owner = 0
  where e.state = 'leased' and case
    when e.owner = p_owner then e.lease_until <= p_now
    when o.owner is null then true
    when everyone.watched - o.watched > p_grace then true
    else e.lease_until <= p_now
      and (everyone.seen - everyone.since > 3 * p_grace or everyone.gaps - o.gaps > 1)
  end
  order by e.seq
$$;
