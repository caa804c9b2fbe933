// The tables, as numbered steps that only add: a newer program brings an older file up to date, an
// older program refuses a newer file.
import { WebhookError } from '../../../errors.ts'
import { type SqliteDatabase, transact } from './driver.ts'

/**
 * `idv_lanes` holds the head of every lane that has open entries, so that a claim reads as many
 * rows as it takes, however long the backlog; no entry below a lane's floor is open. Indexes by lane
 * leave the state out, and bodies have a table of their own, so that a change of state writes
 * neither again. `idv_relations` holds the client of a verification, as any of its events named it.
 */
const first = `
create table idv_entries (
  seq integer primary key autoincrement,
  id text not null unique,
  state text not null,
  lane text not null,
  related text,
  name text,
  received_name text,
  source text not null,
  occurred_at integer,
  stored_at integer not null,
  bytes integer not null,
  attempt integer not null default 0,
  generation integer not null default 0,
  fence integer not null default 0,
  owner integer,
  lease_until integer,
  due integer,
  settled_at integer,
  reason text,
  failures text,
  conflict_of text,
  erased integer not null default 0
) strict;
create index idv_entries_lane on idv_entries (lane, seq);
create index idv_entries_dead on idv_entries (lane, seq) where state = 'dead';
create index idv_entries_related on idv_entries (related) where related is not null;
create index idv_entries_conflicts on idv_entries (conflict_of) where conflict_of is not null;
create index idv_entries_state on idv_entries (state, seq);
create index idv_entries_settled on idv_entries (state, settled_at) where erased = 0 and settled_at is not null;
create index idv_entries_erased on idv_entries (stored_at) where erased = 1;

create table idv_contents (seq integer primary key, metadata blob not null, body blob not null) strict;
create table idv_handled (seq integer not null, handler text not null, primary key (seq, handler)) strict, without rowid;
create table idv_keys (
  key text primary key, entry text not null, digest text not null, name text, at integer not null
) strict, without rowid;
create index idv_keys_at on idv_keys (at);
create index idv_keys_entry on idv_keys (entry);
create table idv_lanes (
  lane text primary key, head integer not null, due integer, floor integer not null,
  tenant text not null
) strict, without rowid;
create index idv_lanes_due on idv_lanes (due, head) where due is not null;
create index idv_lanes_tenant on idv_lanes (tenant, due, head) where due is not null;
create table idv_high_water_marks (
  lane text primary key, at integer, final integer not null, touched integer not null, decision text
) strict, without rowid;
create index idv_high_water_marks_touched on idv_high_water_marks (touched);
create table idv_relations (
  lane text primary key, related text not null, at integer not null
) strict, without rowid;
create index idv_relations_at on idv_relations (at);
create table idv_counts (state text primary key, count integer not null) strict, without rowid;
insert into idv_counts values ('stored', 0), ('leased', 0), ('retry', 0), ('done', 0), ('dead', 0), ('skipped', 0);
`

const steps: readonly string[] = [first]

const schemaVersion = steps.length

/**
 * Brings a database up to date, inside one transaction.
 *
 * @throws WebhookError `STORE_UNSUITABLE` when a newer program has been here
 */
export function migrate(db: SqliteDatabase): void {
  transact(db, () => {
    // Not user_version: that number belongs to the application, which may have tables in the file.
    db.exec('create table if not exists idv_settings (name text primary key, value any) strict')
    const version = knownVersion(db)
    for (const step of steps.slice(version)) db.exec(step)
    if (version < schemaVersion) {
      db.prepare("insert or replace into idv_settings values ('schema', ?)").run(schemaVersion)
    }
  })
}

export function assertSchema(db: SqliteDatabase, path: string): void {
  const table = "select 1 from sqlite_schema where name = 'idv_settings'"
  if (db.prepare(table).get() && knownVersion(db) === schemaVersion) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `${path} is not an inbox of this version: start the application once with it, then try again`,
  )
}

function knownVersion(db: SqliteDatabase): number {
  const row = db.prepare("select value from idv_settings where name = 'schema'").get()
  const version = Number((row as { value?: unknown } | undefined)?.value ?? 0)
  if (version <= schemaVersion) return version
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `the inbox file has schema ${version}, and this version of idv-webhooks knows ${schemaVersion}: upgrade the package, or restore the backup from before`,
  )
}
