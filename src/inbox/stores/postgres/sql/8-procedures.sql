-- The settings of the functions, and the functions as transactions of their own. A pool may hand out a
-- connection on which the application left a transaction open: an answer there is not committed.

-- The names in a function are those of Postgres, whatever the path of the session is. In these some,
-- rows are found one by one in the order of an index: the planner does not know how few are asked for.
-- It would hash whole tables, or read a whole lane and sort it for the sake of its head.
do $do$
declare f record;
begin
  for f in select p.oid::regprocedure as name,
      p.proname = any('{advance,keep,tenants,await_due,due,claim,done,settle}') as by_index
    from pg_proc p join pg_class c on c.relnamespace = p.pronamespace
    where c.oid = 'idv.entries'::regclass and p.prokind = 'f'
  loop
    execute format('alter function %s set search_path = pg_catalog, pg_temp', f.name);
    if f.by_index then
      execute format('alter function %s set jit = off set enable_seqscan = off
        set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
        set plan_cache_mode = force_generic_plan', f.name);
    end if;
  end loop;
end $do$;

-- The server refuses a `commit` with 2D000 if a transaction is open; no other sign is sure. The last
-- `commit` comes before the answer, which postgres.js up to 3.4.7 takes for the end. A procedure that
-- commits cannot have a search_path. If the time of a statement ends while it waits for a synchronous
-- standby, the server only warns; that time may have begun earlier, so half of it stands for all.
do $do$
declare
  f record;
  v_replicated text := $r$
  if current_setting('synchronous_standby_names') <> ''
      and current_setting('statement_timeout') <> '0' and clock_timestamp() - statement_timestamp()
        >= current_setting('statement_timeout')::interval / 2::float8 then
    raise exception 'the standby may not have it' using errcode = 'query_canceled';
  end if;$r$;
begin
  for f in select p.proname as name, oidvectortypes(p.proargtypes) as types,
      (select string_agg('$' || n, ', ') from generate_series(1, p.pronargs) n) as parameters,
      p.proname in ('keep', 'settle', 'assign', 'checkpoint', 'reopen', 'dismiss', 'forget') as lasts
    from pg_proc p join pg_class c on c.relnamespace = p.pronamespace
    where c.oid = 'idv.entries'::regclass
      and p.proname = any('{keep,claim,settle,assign,recover,renew,checkpoint,reopen,dismiss,forget,
        align_retries,align_lanes,free_lanes,purge,beat,leave,recall,remember}')
  loop
    execute format($p$create procedure idv.alone_%1$s(%2$s, inout answers text)
language plpgsql as $body$
begin
  commit;
  select pg_catalog.json_agg(pg_catalog.row_to_json(y))::text into answers
    from (select * from idv.%1$s(%3$s) as answer) y;
  commit;%4$s
end $body$$p$, f.name, f.types, f.parameters, case when f.lasts then v_replicated end);
  end loop;
end $do$;
