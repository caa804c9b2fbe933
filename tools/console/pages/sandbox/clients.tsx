// The clients of an organization, and the detail of one with its changes.
/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import { call, type FieldProblem, Problem } from '../call.ts'
import { useLoad } from '../load.ts'
import { href } from '../route.ts'
import { bodySchema, endpointsOf } from '../schema.ts'
import { Time } from '../time.tsx'
import { Status } from '../ui/badge.tsx'
import { confirm } from '../ui/confirm.tsx'
import { Detail, DetailHead, Fact, Facts } from '../ui/detail.tsx'
import { SchemaFields, toBody, type Values, words } from '../ui/form.tsx'
import { isRevealed, Masked, RevealButton } from '../ui/masked.tsx'
import { attempt } from '../ui/toast.tsx'
import { listed, RecordsPage } from './records.tsx'
import { type Client, control, type DeliverySummary, documentAt } from './resources.ts'
import { History } from './verification.tsx'

export function ClientsPage() {
  return (
    <RecordsPage<Client>
      title="Clients"
      what="client"
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

interface Shown {
  readonly client: Client
  readonly deliveries: readonly DeliverySummary[]
}

function ClientDetail({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, problem } = useLoad({
    key: `client ${id}`,
    ask: (signal) => call<Shown>(`/_console/clients/${encodeURIComponent(id)}`, { signal }),
    on: ['client', 'delivery', 'state'],
  })
  return (
    <Detail label="Client" problem={problem} onClose={onClose}>
      {data && <Whole shown={data} onClose={onClose} />}
    </Detail>
  )
}

function Whole({ shown, onClose }: { readonly shown: Shown; readonly onClose: () => void }) {
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
  const remove = async () => {
    const text = 'It remains readable with active: false, and client.deleted is sent.'
    if (!(await confirm({ title: 'Delete this client?', text, yes: 'Delete', danger: true })))
      return
    await attempt(async () => {
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

function ClientFacts({ client }: { readonly client: Client }) {
  const { id, memberType, requestCount, createdAt, updatedAt, metadata } = client
  return (
    <section>
      <h3>Facts</h3>
      <Facts>
        <Fact name="Id">
          <code>{id}</code>
        </Fact>
        <Fact name="Member type">{memberType}</Fact>
        {identity.map((name) => (
          <Fact key={name} name={words(name)}>
            <Masked of={id}>{client[name]}</Masked>
          </Fact>
        ))}
        <Fact name="Metadata">
          <Masked of={id}>{metadata && JSON.stringify(metadata)}</Masked>
        </Fact>
        <Fact name="Verifications">
          <a href={href(['verifications'], { clientId: id })}>{requestCount}</a>
        </Fact>
        <Fact name="Created">
          <Time at={createdAt} />
        </Fact>
        <Fact name="Updated">
          <Time at={updatedAt} />
        </Fact>
      </Facts>
    </section>
  )
}

function Edit({ client, onDone }: { readonly client: Client; readonly onDone: () => void }) {
  const { data: document } = useLoad({ key: 'control', ask: () => documentAt(control) })
  const [values, setValues] = useState<Values>({ ...client })
  const [errors, setErrors] = useState<readonly FieldProblem[]>([])
  const found = document && endpointsOf(document).find((one) => one.operationId === 'updateClient')
  const schema = found && document && bodySchema(found, document)
  if (!schema || !document) return null
  const known = Object.fromEntries(
    Object.keys(schema.properties ?? {}).map((name) => [name, values[name] ?? undefined]),
  )
  const save = async () => {
    const { body, errors: own } = toBody(schema, document, known)
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
      <SchemaFields {...{ schema, document, errors }} values={known} onChange={setValues} />
      <div class="actions">
        <button type="button" class="main" onClick={save}>
          Save
        </button>
      </div>
    </div>
  )
}
