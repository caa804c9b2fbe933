// Changes of a client record: its creation (section 4.4) and, from the control plane, an
// update or the soft delete of section 2.4.
import { endpoints } from '../../src/client/contract.ts'
import { defined } from '../../src/foundation/defined.ts'
import { HttpError } from './http-error.ts'
import type { ClientInput } from './schemas/api.ts'
import type { ClientRow, Organization } from './schemas/snapshot.ts'
import type { State } from './state.ts'

type ClientBody = ClientRow['resource']

const names = Object.keys(endpoints.createClient.body.shape)
/** Section 4.4: the fields of a client that the body leaves out; two fields have other defaults. */
const empty = Object.fromEntries(names.map((name) => [name, null])) as Readonly<
  Record<Exclude<keyof ClientInput, 'memberType' | 'country'>, null>
>

export function createClientRecord(
  state: State,
  organization: Organization,
  input: ClientInput,
): ClientBody {
  const now = state.clock.now().toISOString()
  const resource: ClientBody = {
    id: state.random.uuid(),
    orgId: organization.id,
    ...empty,
    ...defined(input),
    active: true,
    requestCount: 0,
    createdAt: now,
    updatedAt: now,
  }
  state.saveClient({ resource })
  state.emit('client.created', resource)
  return resource
}

/** Changes the given fields; null clears one. */
export function updateClient(state: State, row: ClientRow, patch: Partial<ClientBody>): ClientBody {
  const changes = defined(patch)
  return change(state, row, Object.keys(changes).length > 0 ? changes : undefined)
}

/** The soft delete: the record stays, with `active` false. */
export function deleteClient(state: State, row: ClientRow): ClientBody {
  return change(state, row, { active: false })
}

/** Changes a client; a deleted client answers 409. */
function change(state: State, row: ClientRow, patch: Partial<ClientBody> | undefined): ClientBody {
  if (!row.resource.active) {
    throw new HttpError(409, 'The client is deleted', { code: 'CLIENT_DELETED' })
  }
  if (!patch) return row.resource
  row.resource = { ...row.resource, ...patch, updatedAt: state.clock.now().toISOString() }
  state.saveClient(row)
  state.emit(row.resource.active ? 'client.updated' : 'client.deleted', row.resource)
  return row.resource
}
