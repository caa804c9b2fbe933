// The owner of the schema of the inbox. Who owns a schema, or a function in it, may put other code behind
// the names that the inbox calls, and it would run with the rights of the inbox.
import { WebhookError } from '../../../errors.ts'
import type { PostgresValue } from './driver.ts'

const isSuperuser = '(select m.rolsuper from pg_catalog.pg_roles m where m.rolname = current_user)'

/** Roles that gain nothing by what they could have this one do: for a superuser only superusers. */
const isTrusted = (role: string) => `(${role}.rolsuper or ${role}.rolname = current_user
    or not ${isSuperuser} and (${role}.rolname = 'pg_database_owner'::name
      or ${role}.oid = (select d.datdba from pg_catalog.pg_database d where d.datname = current_database())
      or pg_catalog.pg_has_role(${role}.oid, 'member'::text)))`

/* Nothing where there is no such schema. Objects by their names: with other parameters it is another function. */
const ownersSql = `select r.rolname::text as owner, ${isTrusted('r')} as is_trusted,
    ${isSuperuser} as is_superuser,
    (select pg_catalog.count(*) from (
      select c.relowner as owner from pg_catalog.pg_class c
        where c.relnamespace = n.oid and c.relname = any($2::text[]::name[])
      union all select p.proowner from pg_catalog.pg_proc p
        where p.pronamespace = n.oid and p.proname = any($2::text[]::name[])
    ) o join pg_catalog.pg_roles u on u.oid = o.owner
      where o.owner <> n.nspowner and not (${isTrusted('r')} and ${isTrusted('u')}))::int as strange,
    exists (select from pg_catalog.aclexplode(n.nspacl) a
      where a.grantee = 0::oid and a.privilege_type = 'CREATE'::text) as is_open
  from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
  where n.nspname = $1::text::name`

type Ask = (
  sql: string,
  values: readonly PostgresValue[],
) => Promise<readonly Readonly<Record<string, unknown>>[]>

/** A schema, and who may own it. */
export interface OwnerCheck {
  readonly schema: string
  /** The names of what is in the schema. */
  readonly names: readonly string[]
  /** Another role may own all of it: somebody has said that it made the schema. */
  readonly byAnother: boolean
}

/** @throws WebhookError `STORE_UNSUITABLE` where another role could change what runs as the inbox */
export async function assertOwner(ask: Ask, check: OwnerCheck): Promise<void> {
  const { schema, names, byAnother } = check
  const [row] = await ask(ownersSql, [schema, `{${names.join(',')}}`])
  if (!row) return
  const { owner, is_trusted: isOurs, is_superuser: isSuperuser, strange, is_open: isOpen } = row
  if (isOpen === true) {
    throw unsuitable(
      `each role may create functions in the schema ${schema}, and they could run as the inbox: \`revoke create on schema ${schema} from public\`, or choose another schema`,
    )
  }
  if (isOurs !== true && byAnother && isSuperuser === true) {
    throw unsuitable(
      `the schema ${schema} belongs to ${owner}, whose functions would run as this superuser: connect as ${owner}, or as the role of the application`,
    )
  }
  if (isOurs !== true && !byAnother) {
    throw unsuitable(
      `the schema ${schema} belongs to another role, ${owner}, whose functions would run as the inbox: \`alter schema ${schema} owner to …\` the role of the inbox, choose another schema, or set migrate: false where that role is trusted and has run postgresSchema()`,
    )
  }
  if (Number(strange) === 0) return
  throw unsuitable(
    `tables or functions of the inbox in the schema ${schema} belong to another role than the schema itself (${owner}), and could run as the inbox: let one role own all of it`,
  )
}

/** The same in the SQL of the schema, for who runs that. */
export const ownerGuard = (schema: string) => `do $$ begin
  if not exists (select from pg_catalog.pg_namespace n join pg_catalog.pg_roles r on r.oid = n.nspowner
    where n.nspname = '${schema}' and ${isTrusted('r')})
  then
    raise exception 'the schema ${schema} belongs to another role, which could change what runs as the inbox: alter schema ${schema} owner to current_user';
  end if;
end $$`

function unsuitable(message: string): WebhookError {
  return new WebhookError('STORE_UNSUITABLE', message)
}
