// Requirements of the server and of the role, checked at opening: a promise that cannot be kept is an
// error then, with the fix, and not a loss later.
import { WebhookError } from '../../../errors.ts'
import { warn } from '../../../foundation/warn.ts'
import type { StoreCapabilities } from '../../store.ts'
import type { PostgresRow } from './driver.ts'
import { toBytes } from './rows.ts'
import type { Statements } from './statements.ts'

const settings = `select current_setting('server_version_num')::int as version,
  current_setting('server_encoding') as encoding,
  current_setting('fsync') as fsync,
  current_setting('full_page_writes') as pages,
  current_setting('default_transaction_isolation') as isolation,
  current_setting('default_transaction_read_only') as readonly,
  current_setting('synchronous_standby_names') as standbys,
  current_setting('log_statement') as log_statement,
  current_setting('log_min_duration_statement') as log_duration,
  current_setting('log_transaction_sample_rate') as log_transactions,
  current_setting('log_min_duration_sample') as log_sample,
  current_setting('log_statement_sample_rate') as log_sample_rate,
  current_setting('log_parameter_max_length', true) as log_parameters,
  current_setting('log_parameter_max_length_on_error') as log_error_parameters,
  pg_is_in_recovery() as recovery,
  'a' as two_words, true as is_true, false as is_false, null::text as is_null,
  1099511627776::bigint as a_number, '["a"]'::text as some_json, decode('00ff', 'hex') as some_bytes`

type ResultFault = readonly [is: (row: PostgresRow) => boolean, message: string]

/** Results are read by their names and types, so the pool must hand them on as they are. */
function isUnchanged(row: PostgresRow): boolean {
  return (
    row.two_words === 'a' &&
    row.is_true === true &&
    row.is_false === false &&
    row.is_null === null &&
    Number(row.a_number) === 2 ** 40 &&
    row.some_json === '["a"]' &&
    String(toBytes(row.some_bytes)) === '0,255'
  )
}

const changed =
  'the pool changes names or values of results: give the inbox a pool of its own, without `transform` (postgres.js)'

const faults: readonly ResultFault[] = [
  [({ version }) => Number(version) < 130_000, 'the server must be PostgreSQL 13 or later'],
  [
    ({ encoding }) => encoding !== 'UTF8',
    "the database must have the encoding UTF8: create it with `create database … encoding 'UTF8' template template0`",
  ],
  [
    ({ recovery }) => recovery === true,
    'the server is a standby that only reads: connect to the primary (`target_session_attrs=read-write`)',
  ],
  [
    ({ readonly }) => readonly === 'on',
    'default_transaction_read_only is on: `alter role … set default_transaction_read_only = off`',
  ],
  [
    ({ isolation }) => isolation !== 'read committed',
    "default_transaction_isolation must be read committed: `alter role … set default_transaction_isolation = 'read committed'`",
  ],
]

const syncFaults: readonly ResultFault[] = [
  [
    ({ fsync }) => fsync === 'off',
    'fsync is off, so a power cut can lose or damage entries: set fsync = on in postgresql.conf',
  ],
  [
    ({ pages }) => pages === 'off',
    'full_page_writes is off, so a power cut can damage entries: set full_page_writes = on in postgresql.conf',
  ],
]

/**
 * Checks that the server can keep the promises of the store.
 *
 * @throws WebhookError `STORE_UNSUITABLE`
 */
export async function assertServer(
  statements: Statements,
  { survives }: Pick<StoreCapabilities, 'survives'>,
): Promise<void> {
  const row = await statements.first(settings)
  const isSynced = survives === 'power-cut' || survives === 'failover'
  const fault = [...faults, ...(isSynced ? syncFaults : [])].find(([is]) => is(row))
  if (!isUnchanged(row)) throw unsuitable(changed)
  if (fault) throw unsuitable(fault[1])
  if (survives === 'failover') await assertStandby(statements, row)
  warnOfLogs(row)
}

async function assertStandby(statements: Statements, { standbys }: PostgresRow): Promise<void> {
  if (standbys === '') {
    throw unsuitable(
      "survives: 'failover' needs a synchronous standby: set synchronous_standby_names, or declare survives: 'power-cut'",
    )
  }
  const sql = `select count(*)::int as n, pg_catalog.count(sync_state)::int as seen,
    count(*) filter (where sync_state in ('sync', 'quorum'))::int as synchronous
    from pg_stat_replication`
  const { n, seen, synchronous } = await statements.first(sql)
  if (Number(synchronous) > 0) return
  const hidden = Number(n) > Number(seen)
  throw unsuitable(
    hidden
      ? "survives: 'failover' cannot be verified: `grant pg_monitor to …` for the user of the inbox"
      : "survives: 'failover' needs a synchronous standby, and none is connected: start it, or declare survives: 'power-cut'",
  )
}

/** Warns if the server writes parameters into its log: bodies are among them. */
function warnOfLogs(row: PostgresRow): void {
  const isTimed = (setting: unknown) => Number.parseInt(String(setting), 10) >= 0
  const isLogging =
    row.log_statement === 'all' ||
    isTimed(row.log_duration) ||
    Number(row.log_transactions) > 0 ||
    (isTimed(row.log_sample) && Number(row.log_sample_rate) > 0)
  const names = [
    ...(isLogging && row.log_parameters !== '0' ? ['log_parameter_max_length'] : []),
    ...(row.log_error_parameters !== '0' ? ['log_parameter_max_length_on_error'] : []),
  ]
  if (names.length === 0) return
  warn(
    `Postgres writes the parameters of statements into its log, payloads among them: set ${names.map((name) => `${name} = 0`).join(' and ')}, or createInbox({ encryption })`,
    'POSTGRES_LOG',
  )
}

const tables = 'settings owners entries contents handled keys lanes marks relations counts versions'

const rightsSql = `select quote_ident(current_user::text) as role, (
  select string_agg(x.name, ', ') from (
    select c.relname::text as name from pg_class c where c.relnamespace = v.relnamespace
      and c.relname::text = any(string_to_array('${tables}', ' '))
      and not (select bool_and(has_table_privilege(c.oid, p))
        from unnest(string_to_array($1::text, ', ')) p)
    union all select p.proname::text from pg_proc p where p.pronamespace = v.relnamespace
      and not has_function_privilege(p.oid, 'execute')) x) as lacking
  from pg_class v where v.oid = 'idv.versions'::regclass`

/**
 * Checks the rights of the role, so that a missing one is known before the first delivery.
 *
 * @throws WebhookError `STORE_UNSUITABLE`
 */
export async function assertRights(
  statements: Statements,
  { schema, mode }: { readonly schema: string; readonly mode: 'owner' | 'operator' },
): Promise<void> {
  const needed = mode === 'owner' ? 'select, insert, update, delete' : 'select'
  const { role, lacking } = await statements.first(rightsSql, [needed])
  if (lacking === null) return
  throw unsuitable(
    `the database user has no right to ${lacking} of the inbox: \`grant ${needed} on all tables in schema ${schema} to ${role}; grant execute on all routines in schema ${schema} to ${role}\``,
  )
}

function unsuitable(message: string): WebhookError {
  return new WebhookError('STORE_UNSUITABLE', message)
}
