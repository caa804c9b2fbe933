// Chooses the lanes that a claim takes: those that are due, the longest waiting first, while tenants
// take turns.
import { oneByOne, ownPath } from './plans.ts'

/** The most tenants that one claim serves, and looks at; the next claim goes on from there. */
const mostTenants = 32
const mostLooked = 256

export const due = [
  /*
   * Tenants with lanes that are due: those after the one that was served last, and then the others.
   * Each is two steps in an index, however many lanes wait; \`last\` where there may be more behind it.
   */
  `create function idv.tenants_1(p_now bigint, p_from bigint, p_served text, out tenants text[],
  out last text) language plpgsql ${ownPath} ${oneByOne} as $$
declare v_next text; v_after text := p_served; v_round boolean := false; v_looked int := 0;
begin
  tenants := '{}';
  while v_looked < ${mostLooked} and cardinality(tenants) < ${mostTenants} loop
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
end $$`,

  /*
   * One lane that deliveries hold, waited for: one that they arrive in without a pause would never
   * be free. A function of its own: the block that catches is a subtransaction, whose locks would
   * make a multixact of every row that the claim then changes.
   */
  `create function idv.await_due_1(p_now bigint)
returns table (lane text, head bigint, tenant text, turn int, place int)
language plpgsql ${ownPath} ${oneByOne} as $$
begin
  perform set_config('lock_timeout', '1s', true);
  -- One alone: who waits while it holds another may wait in a circle.
  return query select x.lane, x.head, x.tenant, 0, 0 from idv.lanes x
    where x.due is not null and x.due >= 0 and x.due <= p_now
    order by x.due, x.head limit 1 for no key update;
exception when lock_not_available then
  return;
end $$`,

  /*
   * Lanes that are due, locked; those that another transaction holds are passed over. Turns are
   * taken in whole rounds, as many at a time as there is room for. A row without a lane says whom a
   * claim looked at in vain.
   */
  `create function idv.due_1(p_now bigint, p_from bigint, p_limit int, p_served text)
returns table (lane text, head bigint, tenant text, turn int, place int)
language plpgsql ${ownPath} ${oneByOne} as $$
declare
  v_tenants text[]; v_last text; v_active int[]; v_still int[];
  v_dues bigint[]; v_heads bigint[]; v_left int := p_limit; v_rounds int; v_turn int := 0;
  v_found int; l record;
begin
  select t.tenants, t.last into v_tenants, v_last from idv.tenants_1(p_now, p_from, p_served) t;
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
end $$`,
] as const
