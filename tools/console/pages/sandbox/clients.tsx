// The clients of an organization, and the detail of one with its changes.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { memberTypes } from '../../../../src/protocol/values.ts'
import { call } from '../call.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Button } from '../ui/actions.tsx'
import { Form, type FormField, words } from '../ui/form.tsx'
import { Detail, type DetailProps, type FilterField } from '../ui/list-page.tsx'
import { Facts, Id, Section, Status } from '../ui/parts.tsx'
import type { Column } from '../ui/table.tsx'
import { RecordsPage } from './records.tsx'
import { type Client, control, type DeliverySummary, own } from './resources.ts'
import { EventsSent } from './verifications.tsx'

const filters: readonly FilterField[] = [
  { name: 'memberType', label: 'Type', choices: memberTypes },
  {
    name: 'active',
    label: 'State',
    choices: [
      ['true', 'active'],
      ['false', 'deleted'],
    ],
  },
  { name: 'sort', label: 'Sort', choices: ['name', ['request_count', 'most verifications']] },
]

const fields = [
  { name: 'nameFirst', label: 'First name' },
  { name: 'nameLast', label: 'Last name' },
  { name: 'businessName' },
  { name: 'email' },
  { name: 'phone' },
  { name: 'memberType', label: 'Type', kind: 'choice', choices: memberTypes },
  { name: 'addressLine1' },
  { name: 'addressLine2' },
  { name: 'city' },
  { name: 'region' },
  { name: 'postalCode' },
  { name: 'country', hint: 'Two letters' },
  { name: 'externalId', label: 'External ID' },
  { name: 'metadata', kind: 'json', hint: 'JSON', isRare: true },
] as const satisfies readonly FormField[]

const columns: readonly Column<Client>[] = [
  { head: 'State', cell: ({ active }) => <Status of={active ? 'active' : 'deleted'} /> },
  { head: 'Name', kind: 'main', cell: nameOf },
  { head: 'Type', kind: 'more', cell: ({ memberType }) => memberType },
  { head: 'Verifications', kind: 'more', cell: ({ requestCount }) => requestCount },
  { head: 'ID', kind: 'more', cell: ({ id }) => <code>{id.slice(0, 8)}</code> },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

function nameOf({ nameFirst, nameLast, businessName, email, id }: Client): string {
  const person = [nameFirst, nameLast].filter(Boolean).join(' ')
  return person || businessName || email || id.slice(0, 8)
}

export function ClientsPage() {
  return (
    <RecordsPage<Client>
      title="Clients"
      what="client"
      filters={filters}
      columns={columns}
      fields={fields}
      detail={ClientDetail}
      empty="A client is a record of your customer. Verifications can be linked to it."
    />
  )
}

interface ShownClient {
  readonly client: Client
  readonly deliveries: readonly DeliverySummary[]
}

function ClientDetail({ id, onClose }: DetailProps) {
  const { data, problem } = useLoad({
    key: `client ${id}`,
    ask: (signal) => call<ShownClient>(`${own}/clients/${encodeURIComponent(id)}`, { signal }),
    on: ['client', 'delivery', 'state'],
  })
  const [isEditing, edit] = useState(false)
  const client = data?.client
  const save = async (body: object) => {
    await call(`${control}/clients/${id}`, { method: 'PATCH', body })
    edit(false)
  }
  const actions = client && (
    <>
      <Status of={client.active ? 'active' : 'deleted'} />
      {client.active && (
        <>
          <Button work={() => edit(!isEditing)}>{isEditing ? 'Cancel' : 'Edit'}</Button>
          <Button kind="danger" question={deletion} work={() => remove(id)}>
            Delete
          </Button>
        </>
      )}
    </>
  )
  const title = client ? nameOf(client) : 'Client'
  return (
    <Detail label="Client" {...{ title, problem, onClose, actions }}>
      {client && (
        <>
          {isEditing && client.active ? (
            <Form
              label="Edit the client"
              fields={fields}
              start={{ ...client }}
              submit="Save"
              onSubmit={save}
            />
          ) : (
            <ClientFacts client={client} />
          )}
          <EventsSent deliveries={data.deliveries} />
        </>
      )}
    </Detail>
  )
}

const deletion = {
  title: 'Delete this client?',
  text: 'It remains readable with active: false, and client.deleted is sent.',
}

async function remove(id: string): Promise<string> {
  await call(`${control}/clients/${id}`, { method: 'DELETE' })
  return 'Deleted'
}

function ClientFacts({ client }: { readonly client: Client }) {
  const { id, requestCount, createdAt, updatedAt } = client
  const given = fields.map((field) => {
    const value = client[field.name]
    const label = 'label' in field ? field.label : words(field.name)
    return [label, typeof value === 'object' && value ? JSON.stringify(value) : value] as const
  })
  return (
    <Section title="Details">
      <Facts
        of={{
          ID: <Id of={id} />,
          ...Object.fromEntries(given),
          Verifications: <a href={href(['verifications'], { clientId: id })}>{requestCount}</a>,
          Created: <Time at={createdAt} />,
          Updated: <Time at={updatedAt} />,
        }}
      />
    </Section>
  )
}
