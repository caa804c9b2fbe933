// What can happen to a client record: its creation (section 4.4) and, from the control plane, an
// update or the soft delete that section 2.4 speaks of.
import type { Client } from '../protocol/resources.ts'
import { HttpError } from './http-error.ts'
import type { Organization } from './organizations.ts'
import type { ClientRow } from './rows.ts'
import type { World } from './state.ts'

type Writable =
  | 'nameFirst'
  | 'nameLast'
  | 'businessName'
  | 'email'
  | 'phone'
  | 'externalId'
  | 'memberType'
  | 'addressLine1'
  | 'addressLine2'
  | 'city'
  | 'region'
  | 'postalCode'
  | 'country'
  | 'metadata'

/** The checked body of `POST /clients` (section 4.4). */
export type ClientInput = { readonly [Name in Writable]?: Client[Name] | undefined }

/** Section 4.4: what a client has where the body says nothing. */
const emptyFields = {
  nameFirst: null,
  nameLast: null,
  businessName: null,
  email: null,
  phone: null,
  externalId: null,
  memberType: 'individual',
  addressLine1: null,
  addressLine2: null,
  city: null,
  region: null,
  postalCode: null,
  country: 'CA',
  metadata: null,
} as const satisfies ClientInput

/** The writable fields that are given, and no others. */
function given(input: ClientInput): Partial<Client> {
  const entries = Object.entries(input).filter(
    ([name, value]) => Object.hasOwn(emptyFields, name) && value !== undefined,
  )
  return Object.fromEntries(entries)
}

export function createClientRecord(
  world: World,
  organization: Organization,
  input: ClientInput,
): Client {
  const now = world.clock.now().toISOString()
  const resource: Client = {
    id: world.random.uuid(),
    orgId: organization.id,
    ...emptyFields,
    ...given(input),
    active: true,
    requestCount: 0,
    createdAt: now,
    updatedAt: now,
  }
  const row: ClientRow = { seq: world.nextSeq(), resource }
  world.clients.insert(row)
  world.saveClient(row)
  world.emit('client.created', resource)
  return resource
}

/** Changes the fields that are given; null empties one. A deleted client is refused (409). */
export function updateClient(world: World, row: ClientRow, patch: ClientInput): Client {
  refuseDeleted(row)
  const changes = given(patch)
  if (Object.keys(changes).length === 0) return row.resource
  return change(world, row, { event: 'client.updated', patch: changes })
}

/** The soft delete: the record stays, with `active` false. */
export function deleteClient(world: World, row: ClientRow): Client {
  refuseDeleted(row)
  return change(world, row, { event: 'client.deleted', patch: { active: false } })
}

function refuseDeleted({ resource }: ClientRow): void {
  if (!resource.active)
    throw new HttpError(409, 'The client is deleted', { code: 'CLIENT_DELETED' })
}

interface ClientChange {
  readonly event: 'client.updated' | 'client.deleted'
  readonly patch: Partial<Client>
}

function change(world: World, row: ClientRow, { event, patch }: ClientChange): Client {
  row.resource = { ...row.resource, ...patch, updatedAt: world.clock.now().toISOString() }
  world.clients.changed(row)
  world.saveClient(row)
  world.emit(event, row.resource)
  return row.resource
}
