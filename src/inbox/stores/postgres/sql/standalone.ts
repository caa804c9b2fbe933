// Functions as transactions of their own. A pool may hand out a connection on which somebody left a
// transaction open: what is answered there is committed by nobody.

/** Types of the parameters of each function that is called so. */
export const standalone = {
  keep: ['text', 'bytea'],
  settle: ['text'],
  assign: ['text', 'bytea', 'int', 'int', 'bigint'],
  recover: ['int', 'bigint', 'text', 'bigint'],
  renew: ['int', 'text', 'bigint'],
  checkpoint: ['int', 'text', 'int', 'text'],
  reopen: ['text', 'text', 'bigint', 'boolean', 'boolean'],
  dismiss: ['text', 'bigint'],
  forget: ['text', 'bigint', 'boolean', 'boolean', 'text', 'bigint', 'bigint'],
  align_retries: ['bigint', 'bigint'],
  align_lanes: ['bigint', 'bigint', 'bigint', 'bigint'],
  free_lanes: ['bigint'],
  purge: ['bigint', 'bigint', 'bigint', 'int', 'boolean'],
  beat: ['int', 'int'],
  leave: ['int'],
  recall: ['text', 'bytea'],
  remember: ['text', 'bytea'],
} as const

const claimTypes = ['int', 'bigint', 'bigint', 'bigint', 'int', 'bigint', 'boolean', 'text']

const parameters = (types: readonly string[]) => types.map((_, at) => `$${at + 1}`).join(', ')

/** Those whose answer somebody takes for durable. */
const acknowledged = ['keep', 'settle', 'assign', 'checkpoint', 'reopen', 'dismiss', 'forget']

/*
 * Where a statement's time is over while it waits for a synchronous standby, the server ends the wait
 * with a mere warning. That time may have begun before the server says that the statement did, as
 * with a driver that waits for the types of its parameters: half of it stands for all.
 */
const assertReplicated = `
  if current_setting('synchronous_standby_names') <> ''
      and current_setting('statement_timeout') <> '0' and clock_timestamp() - statement_timestamp()
        >= current_setting('statement_timeout')::interval / 2::float8 then
    raise exception 'the standby may not have it' using errcode = 'query_canceled';
  end if;`

/*
 * The server refuses a \`commit\` with 2D000 where a transaction is open; otherwise nothing is in it.
 * No other sign is sure: with parameters even a transaction of one statement has two times. The
 * last \`commit\` comes before the answer: a driver that takes the answer for the end, as postgres.js
 * did up to 3.4.7, would not wait for the commit behind it. A procedure with a path of its own could
 * not commit: its names are exact, or have their schema.
 */
function procedure(name: string, types: readonly string[]): string {
  return `create procedure idv.alone_${name}_1(${types.join(', ')}, inout answers text)
language plpgsql as $$
begin
  commit;
  select pg_catalog.json_agg(pg_catalog.row_to_json(y))::text into answers
    from (select * from idv.${name}_1(${parameters(types)}) as answer) y;
  commit;${acknowledged.includes(name) ? assertReplicated : ''}
end $$`
}

/** The text of a call. */
export function callOf(name: keyof typeof standalone): string {
  return `call idv.alone_${name}_1(${cast(standalone[name])}, null)`
}

const cast = (types: readonly string[]) => types.map((type, at) => `$${at + 1}::${type}`).join(', ')

export const claimCall = `call idv.alone_claim_1(${cast(claimTypes)}, null, null)`

export const procedures = [
  ...Object.entries(standalone).map(([name, types]) => procedure(name, types)),
  /* Rows say how long metadata and body are, and the bytes of all stand one behind the other. */
  `create procedure idv.alone_claim_1(${claimTypes.join(', ')}, inout answers text, inout bytes bytea)
language plpgsql as $$
begin
  commit;
  select pg_catalog.json_agg(pg_catalog.row_to_json(r))::text,
      pg_catalog.string_agg(coalesce(c.metadata, '') || coalesce(c.body, ''), '') into answers, bytes
    from idv.claim_1(${parameters(claimTypes)}) c cross join lateral (
      select c.id, c.fence, c.attempt, c.seq, c.name, c.source, c.occurred_at, c.stored_at,
        length(c.metadata) as metadata, length(c.body) as body, c.handled, c.failed, c.gap, c.mark_at,
        c.mark_final, c.mark_decision, c.served, c.next) r;
  commit;
end $$`,
]
