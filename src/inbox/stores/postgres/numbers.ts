// The numbers of entries, by which an entity's events are in order. Copies by logical replication leave
// their sequence behind.
import { randomUUID } from 'node:crypto'
import { WebhookError } from '../../../errors.ts'
import { type Statements, toStoreError } from './statements.ts'

/* One that is ahead stays as it is; who may only write has no right to it. */
const numbersSql = `select s.name, quote_ident(current_user::text) as role,
    has_sequence_privilege(s.name, 'SELECT, USAGE') and has_sequence_privilege(s.name, 'UPDATE') as may,
    case
      when not has_sequence_privilege(s.name, 'SELECT, USAGE') then null
      when not has_sequence_privilege(s.name, 'UPDATE') then null
      when m.seq > coalesce(pg_sequence_last_value(s.name::regclass), 0) then setval(s.name::regclass, m.seq)
    end as seq
  from (select pg_get_serial_sequence('idv.entries', 'seq') as name) s,
    (select max(seq) as seq from idv.entries) m`

/* Rolled back: whoever may insert learns the next number from it. */
const probeSql = `insert into idv.entries (id, state, lane, source, stored_at, bytes)
  values ($1::text, 'done', '', '', 0, 0)
  returning seq, (select coalesce(max(seq), 0) from idv.entries) as most`

/**
 * Numbers of new entries go on after the highest.
 *
 * @throws WebhookError `STORE_UNSUITABLE` where they do not, and this role may not set them
 */
export async function alignNumbers(statements: Statements): Promise<void> {
  const { may, name, role } = await statements.first(numbersSql)
  if (may === true || !(await isBehind(statements))) return
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `the sequence ${name} stands behind the entries, as after a copy by logical replication, and this user may not set it: \`grant select, update on sequence ${name} to ${role}\` as the owner of the schema`,
  )
}

async function isBehind(statements: Statements): Promise<boolean> {
  const { limit, driver } = statements
  const tx = await statements.within(limit, (signal) => driver.begin(signal))
  try {
    const probe = () => tx.query(statements.text(probeSql), [randomUUID()])
    const [row] = await statements.within(limit, probe)
    return Number(row?.seq) <= Number(row?.most)
  } catch (error) {
    if (isTaken(error)) return true
    throw error
  } finally {
    await statements.undo(tx)
  }
}

/** A number that another entry has. */
export const isTaken = (error: unknown): boolean => toStoreError(error).sqlState === '23505'
