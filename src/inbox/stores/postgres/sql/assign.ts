// Gives an entry its lane that could not be read when it arrived, or not as what it is.
import { mostConflicts } from '../../../entry.ts'
import { ownPath } from './plans.ts'

export const assign = [
  /* Compares its keys; those that are new are its own from then on. Both lanes must be locked. */
  `create function idv.meet_1(
  e idv.entries, p_key text, p_digest text, p_aliases json, p_lane text, p_related text,
  out kind text, out first text
) language plpgsql ${ownPath} as $$
declare k record;
begin
  kind := 'stored';
  -- Evidence runs where it was named: it is not a copy of what it conflicts with.
  if e.conflict_of is not null then return; end if;
  if p_key is not null then
    select * into k from idv.key_1(p_key, e.id, p_digest, null, e.stored_at);
    if k.known_entry = e.id then
      update idv.keys q set digest = p_digest where q.key = p_key;
    elsif k.known_entry is not null then
      kind := 'duplicate'; first := k.known_entry;
      -- '!' comes next to the space.
      if k.known_digest not in (p_digest, '')
          and (select count(*) from idv.keys q where q.key > p_key || ' ' and q.key < p_key || '!')
            < ${mostConflicts} then
        select * into k from idv.key_1(p_key || ' ' || p_digest, e.id, p_digest, null, e.stored_at);
        if k.known_entry is null then kind := 'conflict'; end if;
      end if;
      return;
    end if;
  end if;
  if p_aliases is null then return; end if;
  first := idv.alias_1(p_aliases, e.id, p_digest, e.stored_at);
  if first is null then return; end if;
  kind := 'duplicate';
  update idv.keys q set entry = first where q.key = p_key;
  -- Perhaps only this duplicate names the related lane.
  perform idv.relate_1(p_lane, p_related, e.stored_at);
end $$`,

  /* With the time at which the first of both lanes is due: the one it leaves may have been for long. */
  `create function idv.assign_1(
  p_entry text, p_data bytea, p_fence int, p_owner int, p_now bigint, out kind text, out due bigint
) language plpgsql ${ownPath} as $$
declare x record; e idv.entries; m record; v_lane text; v_made text[]; v_related text;
begin
  perform idv.guard_1();
  select * into x from json_to_record(p_entry::json) as r(id text, lane text, key text, digest text,
    aliases json, related text, name text, "receivedName" text, "occurredAt" bigint, metadata int);
  kind := 'lost';
  select n.lane into v_lane from idv.entries n where n.id = x.id;
  if not found then return; end if;
  v_made := idv.lock_lanes_1(array(
    select distinct l collate "C" from unnest(array[v_lane, x.lane]) l
    union select c.lane collate "C" from idv.entries c where c.conflict_of = x.id));
  select n.* into e from idv.entries n where n.id = x.id for no key update;
  if e.state = 'leased' and e.fence = p_fence and e.owner = p_owner then
    if e.erased then
      due := idv.skip_1(e.seq, e.lane, 'FORGOTTEN', p_now);
    else
      select * into m from idv.meet_1(e, x.key, x.digest, x.aliases, x.lane, x.related);
      kind := m.kind;
    end if;
  end if;
  if kind = 'duplicate' then
    delete from idv.contents c where c.seq = e.seq;
    update idv.entries n set erased = true, failures = null where n.seq = e.seq;
    update idv.keys k set digest = '' where k.entry = e.id;
    -- Its evidence is of the first one by now, whose entity is known.
    update idv.entries n set conflict_of = m.first where n.conflict_of = e.id;
    due := idv.skip_1(e.seq, e.lane, 'FORGOTTEN', p_now);
  elsif kind <> 'lost' then
    v_related := idv.relate_1(x.lane, x.related, e.stored_at);
    update idv.contents c set metadata = substring(p_data from 1 for x.metadata),
      body = substring(p_data from x.metadata + 1) where c.seq = e.seq;
    update idv.entries n set lane = x.lane, related = coalesce(v_related, n.related), name = x.name,
      received_name = x."receivedName", occurred_at = x."occurredAt" where n.seq = e.seq;
    if kind = 'conflict' then
      update idv.entries n set state = 'skipped', reason = 'CONFLICT', conflict_of = m.first,
        settled_at = p_now, due = null, failures = null where n.seq = e.seq;
      perform idv.moved_1('leased', 'skipped');
      due := idv.advance_1(e.lane, p_now);
    else
      -- As new: the release takes one attempt.
      update idv.entries n set attempt = 1, failures = null where n.seq = e.seq;
      due := idv.release_1(e.seq, e.lane, p_now);
      due := least(due, idv.enter_1(e.seq, x.lane, p_now));
    end if;
  end if;
  delete from idv.lanes l where l.lane = any(v_made) and l.head is null;
end $$`,
] as const
