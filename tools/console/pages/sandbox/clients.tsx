// The clients of an organization, and the detail of one with its changes.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { memberTypes } from '../../../../src/protocol/values.ts'
import { call, type FieldProblem, Problem } from '../call.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { Time } from '../time.tsx'
import { Status } from '../ui/badge.tsx'
import { confirmed } from '../ui/confirm.tsx'
import { Detail, DetailHead, Facts } from '../ui/detail.tsx'
import { type FormField, FormFields, toBody, type Values, words } from '../ui/form.tsx'
import { isRevealed, Masked, RevealButton } from '../ui/masked.tsx'
import { type FilterField, listed, RecordsPage } from './records.tsx'
import { type Client, control, type DeliveryLine } from './resources.ts'
import { History } from './verification.tsx'

const identity = [
  'nameFirst',
  'nameLast',
  'businessName',
  'email',
  'phone',
  'externalId',
  'addressLine1',
  'addressLine2',
  'city',
  'region',
  'postalCode',
  'country',
] as const

const filters: readonly FilterField[] = [
  { name: 'memberType', choices: memberTypes },
  { name: 'active', choices: ['true', 'false'] },
  { name: 'sort', choices: ['name', 'created_at', 'request_count'] },
]

const fields: readonly FormField[] = [
  ...identity.map((name) => ({ name })),
  { name: 'memberType', kind: 'choice', choices: memberTypes, hint: 'individual by default' },
  { name: 'metadata', kind: 'json', hint: 'JSON' },
]

export function ClientsPage() {
  return (
    <RecordsPage<Client>
      title="Clients"
      what="client"
      filters={filters}
      fields={fields}
      row={(one) => <Row of={one} />}
      detail={ClientDetail}
      none="A client is a record of your customer. Verifications can be linked to it."
    />
  )
}

const nameOf = ({ nameFirst, nameLast, businessName, email }: Client) =>
  [nameFirst, nameLast].filter(Boolean).join(' ') || businessName || email

function Row({ of }: { readonly of: Client }) {
  return (
    <>
      <span>
        <Status of={of.active ? 'active' : 'deleted'} />
      </span>
      <span>
        <Masked of={listed}>{nameOf(of)}</Masked>{' '}
        <span class="muted mono">{of.id.slice(0, 8)}</span>
      </span>
      <span class="muted more">{of.memberType}</span>
      <span class="muted more">{of.requestCount} requests</span>
      <span class="muted end">
        <Time at={of.createdAt} />
      </span>
    </>
  )
}

interface ShownClient {
  readonly client: Client
  readonly deliveries: readonly DeliveryLine[]
}

function ClientDetail({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, problem } = useLoad({
    key: `client ${id}`,
    ask: (signal) => call<ShownClient>(`/_console/clients/${encodeURIComponent(id)}`, { signal }),
    on: ['client', 'delivery', 'state'],
  })
  return (
    <Detail label="Client" problem={problem} onClose={onClose}>
      {data && <Whole shown={data} onClose={onClose} />}
    </Detail>
  )
}

function Whole({ shown, onClose }: { readonly shown: ShownClient; readonly onClose: () => void }) {
  const { client, deliveries } = shown
  const { id, active } = client
  const [editing, setEditing] = useState(false)
  // Its fields are filled in with what they hold: masked again, they are gone.
  const edits = editing && active && isRevealed(id)
  return (
    <>
      <DetailHead title={<Masked of={id}>{nameOf(client) ?? id}</Masked>} onClose={onClose}>
        <Status of={active ? 'active' : 'deleted'} />
        <RevealButton of={id}>Reveal identity data</RevealButton>
        {active && isRevealed(id) && (
          <button type="button" onClick={() => setEditing(!editing)}>
            {edits ? 'Cancel' : 'Edit'}
          </button>
        )}
        {active && <Delete id={id} />}
      </DetailHead>
      <div class="stack">
        {edits ? (
          <Edit client={client} onDone={() => setEditing(false)} />
        ) : (
          <ClientFacts client={client} />
        )}
        <History deliveries={deliveries} />
      </div>
    </>
  )
}

function Delete({ id }: { readonly id: string }) {
  const remove = () => {
    const text = 'It remains readable with active: false, and client.deleted is sent.'
    const question = { title: 'Delete this client?', text, yes: 'Delete', danger: true }
    return confirmed(question, async () => {
      await call(`${control}/clients/${id}`, { method: 'DELETE' })
      return 'Deleted'
    })
  }
  return (
    <button type="button" class="danger" onClick={remove}>
      Delete
    </button>
  )
}

function ClientFacts({ client }: { readonly client: Client }) {
  const { id, memberType, requestCount, createdAt, updatedAt, metadata } = client
  const masked = (text: string | null) => <Masked of={id}>{text}</Masked>
  return (
    <section>
      <h3>Facts</h3>
      <Facts
        of={{
          Id: <code>{id}</code>,
          'Member type': memberType,
          ...Object.fromEntries(identity.map((name) => [words(name), masked(client[name])])),
          Metadata: masked(metadata && JSON.stringify(metadata)),
          Verifications: <a href={href(['verifications'], { clientId: id })}>{requestCount}</a>,
          Created: <Time at={createdAt} />,
          Updated: <Time at={updatedAt} />,
        }}
      />
    </section>
  )
}

function Edit({ client, onDone }: { readonly client: Client; readonly onDone: () => void }) {
  const [values, setValues] = useState<Values>(
    Object.fromEntries(Object.entries(client).filter(([, value]) => value !== null)),
  )
  const [errors, setErrors] = useState<readonly FieldProblem[]>([])
  const save = async () => {
    const { body, errors: own } = toBody(fields, values)
    setErrors(own)
    if (own.length > 0) return
    try {
      await call(`${control}/clients/${client.id}`, { method: 'PATCH', body })
      onDone()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setErrors(error.errors)
    }
  }
  return (
    <div class="stack">
      <FormFields {...{ fields, values, errors }} onChange={setValues} />
      <div class="actions">
        <button type="button" class="main" onClick={save}>
          Save
        </button>
      </div>
    </div>
  )
}
