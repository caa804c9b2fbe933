// One row for each statement of the service's document: its section, the statement, and how it is
// shown. The suite runs every row against the sandbox's fetch and over HTTP.
import { expect } from 'vitest'
import {
  assembledVerificationSchema,
  errorBodySchema,
  paginationSchema,
} from '../../src/protocol/api-schemas.ts'
import { clientSchema, limits, verificationSchema } from '../../src/protocol/resources.ts'
import {
  requirementNames,
  verificationStatuses,
  verificationTypes,
} from '../../src/protocol/values.ts'
import type { Sandbox } from '../../tools/sandbox/sandbox.ts'
import type { Call, Json } from './open-sandbox.ts'

export interface Ground {
  readonly sandbox: Sandbox
  readonly call: Call
}

export type Row = readonly [section: string, statement: string, show: (on: Ground) => Promise<void>]

export const minimal = { type: 'idv', requirements: ['document'] }
const uuid = '6f2c1c4e-0b1d-4a53-9a55-7f7f0d2f4f11'
const api = '/v2/api'

const create = async ({ call }: Ground, body: Json = {}, key = 'key_acme') =>
  (await call('POST', `${api}/verifications`, { key, body: { ...minimal, ...body } })).body

const createClient = async ({ call }: Ground, body: Json = {}, key = 'key_acme') =>
  (await call('POST', `${api}/clients`, { key, body })).body

const listed = async ({ call }: Ground, query: string, resource = 'verifications') =>
  (await call('GET', `${api}/${resource}?${query}`)).body

const fields = (body: Json) => (body.errors ?? []).map((one: Json) => one.field)

const acted = ({ call }: Ground, id: string, actions: readonly unknown[], more: object = {}) =>
  call('POST', `/_sandbox/verifications/${id}/actions`, { body: { actions, ...more } })

/** The events that were sent for what `run` did, oldest first. */
async function eventsOf({ sandbox, call }: Ground, run: () => Promise<unknown>): Promise<Json[]> {
  await run()
  const { body } = await call('GET', '/_sandbox/deliveries')
  expect(sandbox.deliveries.list().length).toBe(body.data.length)
  return body.data
}

const atBound = (field: string, length: number, resource: string, base: object = {}): Row => [
  '8',
  `${resource} ${field} takes ${length} characters and no more`,
  async ({ call }) => {
    const body = (size: number) => ({ ...base, [field]: 'x'.repeat(size) })
    const good = await call('POST', `${api}/${resource}`, { body: body(length) })
    const bad = await call('POST', `${api}/${resource}`, { body: body(length + 1) })
    expect([good.status, bad.status]).toEqual([201, 422])
    expect(fields(bad.body)).toEqual([field])
  },
]

const refused = (section: string, statement: string, body: Json, wrong: string[]): Row => [
  section,
  statement,
  async ({ call }) => {
    const { status, body: answer } = await call('POST', `${api}/verifications`, { body })
    expect(status).toBe(422)
    expect(fields(answer).toSorted()).toEqual(wrong.toSorted())
  },
]

const refusedQuery = (section: string, statement: string, path: string, field: string): Row => [
  section,
  statement,
  async ({ call }) => {
    const { status, body } = await call('GET', `${api}${path}`)
    expect([status, fields(body)]).toEqual([422, [field]])
  },
]

export const resourceRows: readonly Row[] = [
  [
    '2.1',
    'a created verification has every field of Request, as typed',
    async (on) => {
      const body = await create(on)
      expect(Object.keys(body).toSorted()).toEqual(Object.keys(verificationSchema.shape).toSorted())
      expect(verificationSchema.safeParse(body).error).toBeUndefined()
    },
  ],
  ...verificationTypes.map(
    (type): Row => [
      '2.1',
      `type ${type} is taken`,
      async (on) => expect((await create(on, { type })).type).toBe(type),
    ],
  ),
  ...requirementNames.map(
    (name): Row => [
      '2.1',
      `requirement ${name} is taken`,
      async (on) =>
        expect((await create(on, { requirements: [name] })).requirements).toEqual([name]),
    ],
  ),
  [
    '2.1',
    'requirements keep their order',
    async (on) => {
      const requirements = ['person', 'document', 'consent']
      expect((await create(on, { requirements })).requirements).toEqual(requirements)
    },
  ],
  [
    '2.1',
    'expiresAt lies expiresDays after createdAt',
    async (on) => {
      const { createdAt, expiresAt, expiresDays } = await create(on, { expiresDays: 3 })
      expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(expiresDays * 86_400_000)
    },
  ],
  [
    '2.2',
    'a single read has every field of the assembled request, as typed',
    async (on) => {
      const { id } = await create(on)
      const { body } = await on.call('GET', `${api}/verifications/${id}`)
      expect(Object.keys(body).toSorted()).toEqual(
        Object.keys(assembledVerificationSchema.shape).toSorted(),
      )
      expect(assembledVerificationSchema.safeParse(body).error).toBeUndefined()
      expect([body.score, body.person, body.documents]).toEqual([null, null, []])
    },
  ],
  [
    '2.2',
    'submitted steps show as their objects, with a score from 0 to 100 and an audit trail',
    async (on) => {
      const { id } = await create(on, { requirements: [...requirementNames] })
      await acted(on, id, ['start', 'submit'])
      const { body } = await on.call('GET', `${api}/verifications/${id}`)
      for (const name of ['person', 'biometric', 'location', 'contact', 'business', 'financial']) {
        expect(body[name].status, name).toBe('completed')
      }
      expect(body.pep.status).toBe('completed')
      expect(body.documents).toHaveLength(1)
      expect(body.score).toBeGreaterThan(0)
      expect(body.score).toBeLessThanOrEqual(100)
      expect(body.steps.map((one: Json) => one.action)).toEqual(['create', 'start', 'submit'])
    },
  ],
  refused('2.3', 'a third party needs a name and an e-mail', { ...minimal, thirdParties: [{}] }, [
    'thirdParties.0.name',
    'thirdParties.0.email',
  ]),
  refused(
    '2.3',
    'a third party has name and org of at most 128 characters and an e-mail in its form',
    {
      ...minimal,
      thirdParties: [{ name: 'x'.repeat(129), email: 'nobody', org: 'x'.repeat(129) }],
    },
    ['thirdParties.0.name', 'thirdParties.0.email', 'thirdParties.0.org'],
  ),
  [
    '2.4',
    'a created client has every field of Client; it is active and has no requests',
    async (on) => {
      const body = await createClient(on)
      expect(Object.keys(body).toSorted()).toEqual(Object.keys(clientSchema.shape).toSorted())
      expect(clientSchema.safeParse(body).error).toBeUndefined()
      expect([body.active, body.requestCount]).toEqual([true, 0])
    },
  ],
  [
    '2.4',
    'a linked verification counts as a request of its client',
    async (on) => {
      const { id } = await createClient(on)
      await create(on, { clientId: id })
      expect((await on.call('GET', `${api}/clients/${id}`)).body.requestCount).toBe(1)
    },
  ],
  [
    '2.4',
    'a soft-deleted client stays, no longer active',
    async (on) => {
      const { id } = await createClient(on)
      await on.call('DELETE', `/_sandbox/clients/${id}`)
      const { status, body } = await on.call('GET', `${api}/clients/${id}`)
      expect([status, body.active]).toEqual([200, false])
    },
  ],
  ...['verifications', 'requests', 'clients'].map(
    (resource): Row => [
      '2.5',
      `a list of ${resource} is {data, pagination} with all six numbers`,
      async (on) => {
        const body = await listed(on, '', resource)
        expect(Object.keys(body).toSorted()).toEqual(['data', 'pagination'])
        expect(paginationSchema.safeParse(body.pagination).error).toBeUndefined()
        expect(body).toEqual({
          data: [],
          pagination: {
            page: 1,
            limit: 20,
            total: 0,
            totalPages: 0,
            hasNext: false,
            hasPrev: false,
          },
        })
      },
    ],
  ),
]

const life: readonly (readonly [string, readonly string[], string])[] = [
  ['verification.submitted', ['start', 'submit'], 'submitted'],
  ['verification.approved', ['start', 'submit', 'review', 'approve'], 'approved'],
  ['verification.rejected', ['start', 'submit', 'reject'], 'rejected'],
  ['verification.canceled', ['cancel'], 'canceled'],
  ['verification.expired', ['expire'], 'expired'],
]

export const eventRows: readonly Row[] = [
  [
    '3',
    'a new request is initiated',
    async (on) => expect((await create(on)).status).toBe('initiated'),
  ],
  ...life.map(
    ([event, actions, status]): Row => [
      '3, 6',
      `${event} tells that a verification is ${status}`,
      async (on) => {
        const { id } = await create(on)
        const sent = await eventsOf(on, () => acted(on, id, actions))
        const { body } = await on.call('GET', `${api}/verifications/${id}`)
        expect(body.status).toBe(status)
        expect(sent.map((one) => one.event)).toContain(event)
      },
    ],
  ),
  [
    '3, 6',
    'a verification expires when its date is reached, not before',
    async (on) => {
      const { id } = await create(on, { expiresDays: 1 })
      const status = async () => (await on.call('GET', `${api}/verifications/${id}`)).body.status
      await on.sandbox.clock.advance({ seconds: 86_399 })
      expect(await status()).toBe('initiated')
      const sent = await eventsOf(on, () => on.sandbox.clock.advance({ seconds: 1 }))
      expect(await status()).toBe('expired')
      expect(sent.map((one) => one.event)).toContain('verification.expired')
    },
  ],
  [
    '4.1, 6',
    'verification.created follows creation',
    async (on) => {
      const sent = await eventsOf(on, () => create(on))
      expect(sent.map((one) => one.event)).toEqual(['verification.created'])
    },
  ],
  [
    '4.4, 6',
    'client.created, client.updated and client.deleted tell of a client',
    async (on) => {
      const sent = await eventsOf(on, async () => {
        const { id } = await createClient(on)
        const patched = await on.call('PATCH', `/_sandbox/clients/${id}`, {
          body: { city: 'Guelph' },
        })
        expect(patched.body.city).toBe('Guelph')
        await on.call('DELETE', `/_sandbox/clients/${id}`)
      })
      expect(sent.map((one) => one.event).toSorted()).toEqual([
        'client.created',
        'client.deleted',
        'client.updated',
      ])
    },
  ],
]

export const verificationRows: readonly Row[] = [
  [
    '4.1',
    'creation answers 201, initiated, with an access token',
    async ({ call }) => {
      const { status, body } = await call('POST', `${api}/verifications`, { body: minimal })
      expect([status, body.status]).toEqual([201, 'initiated'])
      expect(body.accessToken).toMatch(/^\S{16,}$/)
    },
  ],
  refused('4.1, 7', 'type and requirements are required', {}, ['type', 'requirements']),
  refused('4.1, 7', 'requirements need an item', { type: 'kyc', requirements: [] }, [
    'requirements',
  ]),
  refused(
    '4.1, 7',
    'there is an entry for each offending field',
    {
      type: 'x',
      requirements: ['document', 'x'],
      clientId: 'x',
      matterId: 'x',
      subjectName: 'x'.repeat(129),
      subjectEmail: 'x',
      subjectPhone: 'x'.repeat(33),
      expiresDays: 91,
      config: 'x',
      thirdParties: 'x',
    },
    [
      'type',
      'requirements.1',
      'clientId',
      'matterId',
      'subjectName',
      'subjectEmail',
      'subjectPhone',
      'expiresDays',
      'config',
      'thirdParties',
    ],
  ),
  ...[0, 91, 1.5].map((expiresDays) =>
    refused('4.1, 8', `expiresDays is not ${expiresDays}`, { ...minimal, expiresDays }, [
      'expiresDays',
    ]),
  ),
  ...[1, 90].map(
    (expiresDays): Row => [
      '4.1, 8',
      `expiresDays may be ${expiresDays}`,
      async (on) => expect((await create(on, { expiresDays })).expiresDays).toBe(expiresDays),
    ],
  ),
  [
    '4.1, 8',
    'expiresDays is 7 by default',
    async (on) => expect((await create(on)).expiresDays).toBe(7),
  ],
  atBound('subjectName', limits.subjectName, 'verifications', minimal),
  atBound('subjectPhone', limits.subjectPhone, 'verifications', minimal),
  [
    '4.1',
    'subject name, e-mail and phone are loaded from the client',
    async (on) => {
      const person = { nameFirst: 'Ada', nameLast: 'Lovelace', email: 'ada@x.example', phone: '1' }
      const { id } = await createClient(on, person)
      const made = await create(on, { clientId: id })
      expect([made.clientId, made.subjectName, made.subjectEmail, made.subjectPhone]).toEqual([
        id,
        'Ada Lovelace',
        'ada@x.example',
        '1',
      ])
    },
  ],
  [
    '4.1',
    'what the body gives goes before what the client has',
    async (on) => {
      const { id } = await createClient(on, { nameFirst: 'Ada', email: 'ada@x.example' })
      const made = await create(on, { clientId: id, subjectName: 'Countess' })
      expect([made.subjectName, made.subjectEmail]).toEqual(['Countess', 'ada@x.example'])
    },
  ],
  refused('4.1', 'a clientId names a client of ours', { ...minimal, clientId: uuid }, ['clientId']),
  [
    '4.1',
    'subjectEmail sends an invitation with a link; without one there is none',
    async (on) => {
      await create(on)
      const { accessToken } = await create(on, { subjectEmail: 'ada@x.example' })
      const { data } = (await on.call('GET', '/_sandbox/outbox')).body
      expect(data).toHaveLength(1)
      expect([data[0].kind, data[0].to]).toEqual(['invitation', 'ada@x.example'])
      expect(data[0].text).toContain(accessToken)
    },
  ],
  [
    '4.1',
    'third parties get the result on approval, not before',
    async (on) => {
      const party = { name: 'Bank', email: 'bank@x.example', sharedFields: ['type'] }
      const { id } = await create(on, { thirdParties: [party] })
      const outbox = async () => (await on.call('GET', '/_sandbox/outbox')).body.data
      await acted(on, id, ['start', 'submit'])
      expect(await outbox()).toEqual([])
      await acted(on, id, ['approve'])
      const [mail] = await outbox()
      expect([mail.to, mail.shared.status, mail.shared.type]).toEqual([
        'bank@x.example',
        'approved',
        'idv',
      ])
    },
  ],
  [
    '4.2',
    'the list filters by type, status, client and matter',
    async (on) => {
      const client = await createClient(on)
      const one = await create(on, { type: 'kyc', clientId: client.id, matterId: uuid })
      const other = await create(on)
      await acted(on, other.id, ['cancel'])
      const ids = async (query: string) => (await listed(on, query)).data.map((v: Json) => v.id)
      expect(await ids('type=kyc')).toEqual([one.id])
      expect(await ids('type=idv')).toEqual([other.id])
      expect(await ids('status=canceled')).toEqual([other.id])
      expect(await ids('status=canceled,initiated')).toEqual([other.id, one.id])
      expect(await ids(`clientId=${client.id}`)).toEqual([one.id])
      expect(await ids(`matterId=${uuid}`)).toEqual([one.id])
      expect(await ids(`type=idv&matterId=${uuid}`)).toEqual([])
    },
  ],
  ...verificationStatuses.map(
    (status): Row => [
      '4.2',
      `status ${status} is a filter`,
      async ({ call }) =>
        expect((await call('GET', `${api}/verifications?status=${status}`)).status).toBe(200),
    ],
  ),
  [
    '4.2',
    'search matches the subject’s name or e-mail, as text',
    async (on) => {
      const named = await create(on, { subjectName: 'Ada (Lovelace)' })
      const mailed = await create(on, { subjectEmail: 'ada@x.example' })
      await create(on, { subjectName: 'Grace' })
      const ids = async (text: string) =>
        (await listed(on, `search=${encodeURIComponent(text)}`)).data.map((v: Json) => v.id)
      expect(await ids('aDa')).toEqual([mailed.id, named.id])
      expect(await ids('(love')).toEqual([named.id])
      expect(await ids('.*')).toEqual([])
    },
  ],
  [
    '4.2',
    'dateFrom and dateTo include their own instant, whatever the offset',
    async (on) => {
      const one = await create(on)
      await on.sandbox.clock.advance({ seconds: 60 })
      const other = await create(on)
      const ids = async (query: string) => (await listed(on, query)).data.map((v: Json) => v.id)
      expect(await ids(`dateFrom=${other.createdAt}`)).toEqual([other.id])
      expect(await ids(`dateTo=${one.createdAt}`)).toEqual([one.id])
      expect(await ids('dateTo=2026-03-01T11:00:00%2B01:00')).toEqual([one.id])
      expect(await ids(`dateFrom=${one.createdAt}&dateTo=${other.createdAt}`)).toHaveLength(2)
    },
  ],
  [
    '4.2',
    'the list is sorted by creation, newest first, by default; or by update or status',
    async (on) => {
      const first = await create(on)
      await on.sandbox.clock.advance({ seconds: 1 })
      const second = await create(on)
      await on.sandbox.clock.advance({ seconds: 1 })
      await acted(on, first.id, ['cancel'])
      const ids = async (query: string) => (await listed(on, query)).data.map((v: Json) => v.id)
      expect(await ids('')).toEqual([second.id, first.id])
      expect(await ids('sort=created_at')).toEqual([second.id, first.id])
      expect(await ids('sort=updated_at')).toEqual([first.id, second.id])
      expect(await ids('sort=status')).toEqual([second.id, first.id])
    },
  ],
  refusedQuery('4.2', 'a type that is none', '/verifications?type=x', 'type'),
  refusedQuery('4.2', 'a status that is none', '/verifications?status=initiated,x', 'status.1'),
  refusedQuery('4.2', 'a client that is no UUID', '/verifications?clientId=x', 'clientId'),
  refusedQuery('4.2', 'a matter that is no UUID', '/verifications?matterId=x', 'matterId'),
  refusedQuery('4.2', 'a date that is none', '/verifications?dateFrom=yesterday', 'dateFrom'),
  refusedQuery('4.2', 'a sort that is none', '/verifications?sort=name', 'sort'),
  refusedQuery('4.2, 8', 'a page below 1', '/verifications?page=0', 'page'),
  refusedQuery('4.2, 8', 'a limit below 1', '/verifications?limit=0', 'limit'),
  refusedQuery('4.2, 8', 'a limit above 100', '/verifications?limit=101', 'limit'),
  refusedQuery(
    '4.2, 8',
    'a search above 100 characters',
    `/verifications?search=${'x'.repeat(101)}`,
    'search',
  ),
  [
    '4.3, 7',
    'an id that names nothing is NOT_FOUND',
    async ({ call }) => {
      const { status, body } = await call('GET', `${api}/verifications/${uuid}`)
      expect([status, body.code]).toEqual([404, 'NOT_FOUND'])
    },
  ],
]

export const clientRows: readonly Row[] = [
  [
    '4.4',
    'no field is required; memberType is individual and country CA by default',
    async ({ call }) => {
      const { status, body } = await call('POST', `${api}/clients`, { body: {} })
      expect([status, body.memberType, body.country]).toEqual([201, 'individual', 'CA'])
    },
  ],
  [
    '4.4',
    'every field is kept as it was given',
    async (on) => {
      const given = {
        nameFirst: 'Ada',
        nameLast: 'Lovelace',
        businessName: 'Engines',
        email: 'ada@x.example',
        phone: '+1 555',
        externalId: 'crm-1',
        memberType: 'business',
        addressLine1: '1 Main',
        addressLine2: 'Unit 2',
        city: 'Guelph',
        region: 'ON',
        postalCode: 'N1G',
        country: 'GB',
        metadata: { tier: { deep: [1, null] } },
      }
      expect(await createClient(on, given)).toMatchObject(given)
    },
  ],
  ...(['nameFirst', 'nameLast', 'city', 'region', 'externalId'] as const).map((field) =>
    atBound(field, limits.clientShort, 'clients'),
  ),
  ...(['businessName', 'addressLine1', 'addressLine2'] as const).map((field) =>
    atBound(field, limits.clientLong, 'clients'),
  ),
  atBound('phone', limits.clientPhone, 'clients'),
  atBound('postalCode', limits.clientPostalCode, 'clients'),
  [
    '8',
    'clients email takes 255 characters and no more, country exactly 2',
    async ({ call }) => {
      const email = (length: number) =>
        `a@${`${'x'.repeat(60)}.`.repeat(4)}${'x'.repeat(length - 246)}`
      const send = async (body: object) => (await call('POST', `${api}/clients`, { body })).status
      expect(await send({ email: email(256) })).toBe(422)
      expect(await send({ email: email(255) })).toBe(201)
      expect(await send({ country: 'C' })).toBe(422)
      expect(await send({ country: 'CAN' })).toBe(422)
      expect(await send({ email: 'x', memberType: 'x' })).toBe(422)
    },
  ],
  [
    '4.5',
    'the list filters by memberType, active and search over name, e-mail and externalId',
    async (on) => {
      const ada = await createClient(on, { nameFirst: 'Ada', nameLast: 'Lovelace' })
      const firm = await createClient(on, { businessName: 'Engines', memberType: 'business' })
      const crm = await createClient(on, { externalId: 'CRM-9', email: 'grace@x.example' })
      await on.call('DELETE', `/_sandbox/clients/${firm.id}`)
      const ids = async (query: string) =>
        (await listed(on, query, 'clients')).data.map((one: Json) => one.id)
      expect(await ids('memberType=business')).toEqual([firm.id])
      expect(await ids('active=false')).toEqual([firm.id])
      expect(await ids('active=true')).toEqual([crm.id, ada.id])
      expect(await ids('search=ada%20love')).toEqual([ada.id])
      expect(await ids('search=grace')).toEqual([crm.id])
      expect(await ids('search=crm-9')).toEqual([crm.id])
      expect(await ids('search=engines')).toEqual([firm.id])
    },
  ],
  [
    '4.5',
    'the list is sorted by name, creation or number of requests',
    async (on) => {
      const b = await createClient(on, { nameFirst: 'Bea' })
      const a = await createClient(on, { nameFirst: 'ada' })
      await create(on, { clientId: b.id })
      const ids = async (sort: string) =>
        (await listed(on, `sort=${sort}`, 'clients')).data.map((one: Json) => one.id)
      expect(await ids('name')).toEqual([a.id, b.id])
      expect(await ids('created_at')).toEqual([a.id, b.id])
      expect(await ids('request_count')).toEqual([b.id, a.id])
    },
  ],
  refusedQuery('4.5', 'a memberType that is none', '/clients?memberType=x', 'memberType'),
  refusedQuery('4.5', 'an active that is none', '/clients?active=yes', 'active'),
  refusedQuery('4.5', 'a sort that is none', '/clients?sort=status', 'sort'),
  refusedQuery('4.5, 8', 'a page below 1', '/clients?page=0', 'page'),
  refusedQuery('4.5, 8', 'a limit above 100', '/clients?limit=101', 'limit'),
  [
    '4.6',
    'a client is read by its id; an id that names nothing is NOT_FOUND',
    async (on) => {
      const made = await createClient(on)
      expect((await on.call('GET', `${api}/clients/${made.id}`)).body).toEqual(made)
      const { status, body } = await on.call('GET', `${api}/clients/${uuid}`)
      expect([status, body.code]).toEqual([404, 'NOT_FOUND'])
    },
  ],
]

const endpoints = [
  ['GET', '/verifications'],
  ['POST', '/verifications'],
  ['GET', `/verifications/${uuid}`],
  ['GET', '/requests'],
  ['POST', '/requests'],
  ['GET', `/requests/${uuid}`],
  ['GET', '/clients'],
  ['POST', '/clients'],
  ['GET', `/clients/${uuid}`],
] as const

const answersOf = (key: string | null, status: number, code: string): Row[] =>
  endpoints.map(
    ([method, path]): Row => [
      '5, 7',
      `${method} ${path.replace(uuid, '{id}')} answers ${status} ${code} to ${key ?? 'no key'}`,
      async ({ call }) => {
        const answer = await call(method, `${api}${path}`, {
          key,
          ...(method === 'POST' && { body: minimal }),
        })
        expect(answer.status).toBe(status)
        expect(answer.body).toMatchObject({ code, statusCode: status })
        expect(errorBodySchema.safeParse(answer.body).error).toBeUndefined()
        if (status !== 429) return
        for (const name of ['retry-after', 'x-ratelimit-limit', 'x-ratelimit-remaining']) {
          expect(answer.headers.get(name), name).toMatch(/^\d+$/)
        }
      },
    ],
  )

export const accessRows: readonly Row[] = [
  ...answersOf(null, 401, 'UNAUTHORIZED'),
  ...answersOf('key_of_nobody', 401, 'UNAUTHORIZED'),
  ...answersOf('key_revoked', 401, 'UNAUTHORIZED'),
  ...answersOf('key_unpaid', 402, 'PAYMENT_REQUIRED'),
  ...answersOf('key_noplan', 403, 'FORBIDDEN'),
  ...answersOf('key_limited', 429, 'RATE_LIMITED'),
  ...['key_acme', 'key_globex', 'key_initech'].map(
    (key): Row => [
      '5',
      `${key} has API access`,
      async ({ call }) =>
        expect((await call('GET', `${api}/verifications`, { key })).status).toBe(200),
    ],
  ),
  [
    '5',
    'a key can be generated, is shown once, rotated and revoked',
    async ({ call }) => {
      const made = await call('POST', '/_sandbox/api-keys', {
        body: { organizationId: 'org_acme' },
      })
      const status = async (key: string) => (await call('GET', `${api}/clients`, { key })).status
      expect(await status(made.body.key)).toBe(200)
      const all = await call('GET', '/_sandbox/api-keys')
      expect(JSON.stringify(all.body)).not.toContain(made.body.key)
      const next = await call('POST', `/_sandbox/api-keys/${made.body.id}/rotate`)
      expect(await status(made.body.key)).toBe(401)
      expect(await status(next.body.key)).toBe(200)
      await call('DELETE', `/_sandbox/api-keys/${next.body.id}`)
      expect(await status(next.body.key)).toBe(401)
    },
  ],
  [
    '7',
    'a body that is no JSON object is BAD_REQUEST',
    async ({ call }) => {
      for (const body of ['{', '[1]', '"x"', 'null']) {
        const { status, body: answer } = await call('POST', `${api}/clients`, { body })
        expect([status, answer.code, answer.statusCode]).toEqual([400, 'BAD_REQUEST', 400])
      }
    },
  ],
]

export const versionRows: readonly Row[] = [
  ...(['', '/{id}'] as const).map(
    (rest): Row => [
      '4, 9',
      `GET /requests${rest} answers as GET /verifications${rest} does, and says it is deprecated`,
      async (on) => {
        const { id } = await create(on, { subjectName: 'Ada' })
        const path = rest.replace('{id}', id)
        const canonical = await on.call('GET', `${api}/verifications${path}`)
        const legacy = await on.call('GET', `${api}/requests${path}`)
        expect([legacy.status, legacy.body]).toEqual([canonical.status, canonical.body])
        expect(legacy.headers.get('deprecation')).toMatch(/^@\d+$/)
        expect(legacy.headers.get('link')).toBe(
          `<${api}/verifications${path}>; rel="successor-version"`,
        )
        expect(canonical.headers.get('deprecation')).toBeNull()
      },
    ],
  ),
  [
    '4, 9',
    'POST /requests creates the same as POST /verifications',
    async (on) => {
      const { status, body } = await on.call('POST', `${api}/requests`, { body: minimal })
      expect(status).toBe(201)
      expect(verificationSchema.safeParse(body).error).toBeUndefined()
      expect((await on.call('GET', `${api}/verifications/${body.id}`)).status).toBe(200)
    },
  ],
]
