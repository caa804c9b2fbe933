// The clients of an organization, and the detail of one with its changes.
import { useState } from 'preact/hooks'
import type { Client } from '../../../../src/protocol/resources.ts'
import { memberTypes } from '../../../../src/protocol/values.ts'
import type { ShownClient } from '../../../sandbox/console.ts'
import { href } from '../route.ts'
import { at, call, change, useLoad } from '../server.ts'
import { Time } from '../time.tsx'
import { Form, type FormField, type Values, words } from '../ui/form.tsx'
import { type Column, Detail } from '../ui/list.tsx'
import { Button, Details, Id, Status } from '../ui/parts.tsx'
import { EventsSent } from './deliveries.tsx'
import { control, own, RecordsPage } from './records.tsx'

const filters = [
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
] as const

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
  { head: 'State', cell: (one) => <Status of={stateOf(one)} /> },
  { head: 'Name', kind: 'main', cell: nameOf },
  { head: 'Type', kind: 'more', cell: ({ memberType }) => memberType },
  { head: 'Verifications', kind: 'more', cell: ({ requestCount }) => requestCount },
  { head: 'ID', cell: ({ id }) => <code>{id.slice(0, 8)}</code> },
  { head: 'Created', kind: 'end', cell: ({ createdAt }) => <Time at={createdAt} /> },
]

const stateOf = ({ active }: Client) => (active ? 'active' : 'deleted')

function nameOf({ nameFirst, nameLast, businessName, email, id }: Client): string {
  const person = [nameFirst, nameLast].filter(Boolean).join(' ')
  return person || businessName || email || id.slice(0, 8)
}

export function ClientsPage() {
  return (
    <RecordsPage<Client>
      what="client"
      filters={filters}
      columns={columns}
      fields={fields}
      detail={ClientDetail}
      searchHint="Name, email or external ID"
      empty="A client is a record of your customer. Verifications can be linked to it."
    />
  )
}

const deletion = {
  title: 'Delete this client?',
  text: 'It remains readable with active: false, and client.deleted is sent.',
}

function ClientDetail({ id }: { readonly id: string }) {
  const path = `${own}/clients/${encodeURIComponent(id)}`
  const [isEditing, edit] = useState(false)
  const save = async (body: Values) => {
    await call(`${control}/clients/${id}`, { method: 'PATCH', body })
    edit(false)
  }
  const remove = change('Deleted', `${control}/clients/${id}`, { method: 'DELETE' })
  const changes = (
    <>
      <Button work={() => edit(!isEditing)} words={isEditing ? 'Cancel' : 'Edit'} />
      <Button kind="danger" question={deletion} work={remove} words="Delete" />
    </>
  )
  const form = (client: Client) => (
    <Form
      label="Edit the client"
      {...{ fields, submit: 'Save', start: { ...client }, onSubmit: save }}
    />
  )
  return (
    <Detail
      label="Client"
      load={useLoad(at<ShownClient>(path, ['client', 'delivery', 'state']))}
      title={({ client }) => nameOf(client)}
      actions={({ client }) => [
        <Status key="state" of={stateOf(client)} />,
        client.active && changes,
      ]}
    >
      {({ client, deliveries }) => (
        <>
          {isEditing && client.active ? form(client) : <Details of={detailsOf(client)} />}
          <EventsSent items={deliveries} />
        </>
      )}
    </Detail>
  )
}

function detailsOf(client: Client) {
  const { id, requestCount, createdAt, updatedAt } = client
  const given = fields.map((field: FormField) => {
    const value = client[field.name as keyof Client]
    return [
      field.label ?? words(field.name),
      typeof value === 'object' ? value && JSON.stringify(value) : value,
    ]
  })
  return {
    ID: <Id of={id} />,
    ...Object.fromEntries(given),
    Verifications: <a href={href(['verifications'], { clientId: id })}>{requestCount}</a>,
    Created: <Time at={createdAt} />,
    Updated: <Time at={updatedAt} />,
  }
}
