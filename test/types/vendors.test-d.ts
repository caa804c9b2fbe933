import {
  createReceiver,
  type EventMap,
  type EventOf,
  type Receiver,
  type ReversalEvent,
  type Superseded,
} from 'idv-webhooks'
import { type Vendor, vendors } from 'idv-webhooks/vendors'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'

const allow = ['203.0.113.0/24']
type Made = { readonly [Name in keyof typeof vendors]: ReturnType<(typeof vendors)[Name]> }

test('every vendor is a Vendor, and its receiver has the same type as that of the service', () => {
  expectTypeOf<Made[keyof Made]>().toEqualTypeOf<Vendor>()
  for (const vendor of [
    vendors.persona(),
    vendors.sumsub(),
    vendors.jumio({ allow, proxies: 0 }),
  ]) {
    const receiver = createReceiver({ vendor, secret: 's' })
    expectTypeOf(receiver).toEqualTypeOf<Receiver<EventMap, undefined>>()
  }
})

test('an event is typed by its name whatever the vendor', () => {
  const receiver = createReceiver({ vendor: vendors.veriff(), secret: 's' })
  receiver.on('verification.approved', (event, context) => {
    expectTypeOf(event).toEqualTypeOf<EventOf<'verification.approved'>>()
    expectTypeOf(event.data.subjectName).toEqualTypeOf<string | null | undefined>()
    expectTypeOf(event.vendor).toEqualTypeOf<string | undefined>()
    expectTypeOf(event.receivedName).toEqualTypeOf<string>()
    expectTypeOf(event.raw).toEqualTypeOf<unknown>()
    expectTypeOf(context.supersedes).toEqualTypeOf<Superseded | undefined>()
  })
  receiver.on(['verification.rejected', 'client.deleted'], (event) => {
    expectTypeOf(event.name).toEqualTypeOf<'verification.rejected' | 'client.deleted'>()
    if (event.name === 'client.deleted') expectTypeOf(event.data).toHaveProperty('nameFirst')
    else expectTypeOf(event.data).toHaveProperty('subjectName')
  })
  // @ts-expect-error a vendor's own name is no event name: it goes to fallback and '*'
  receiver.on('declined', () => {})
})

test('a reversal is an event of its own, typed, and in no family', () => {
  const receiver = createReceiver({ vendor: vendors.sumsub(), secret: 's' })
  receiver.on('verification.reversed', (event, context) => {
    expectTypeOf(event).toEqualTypeOf<ReversalEvent>()
    expectTypeOf(event.name).toEqualTypeOf<'verification.reversed'>()
    expectTypeOf(event.supersedes.name).toEqualTypeOf<typeof event.decision>()
    expectTypeOf(event.data.id).toEqualTypeOf<string>()
    expectTypeOf(context.fetch).returns.resolves.exclude<null>().toHaveProperty('score')
    // @ts-expect-error nothing is decided by a submission
    event.decision satisfies 'verification.submitted'
  })
  receiver.on(['verification.rejected', 'verification.reversed'], (event) => {
    if (event.name === 'verification.reversed')
      expectTypeOf(event.supersedes).toEqualTypeOf<Superseded>()
    // @ts-expect-error only a reversal has it
    else event.supersedes
  })
  receiver.on('verification.*', (event) => {
    expectTypeOf(event.name).toEqualTypeOf<keyof EventMap & `verification.${string}`>()
  })
})

test('a reversal has the data of the schemas that decisions were given', () => {
  const own = z.object({ id: z.string(), caseNumber: z.number() })
  const schemas = {
    'verification.approved': own,
    'verification.rejected': own,
    'verification.canceled': own,
    'verification.expired': own,
  }
  createReceiver({ vendor: vendors.sumsub(), secret: 's', schemas }).on(
    'verification.reversed',
    (event) => void expectTypeOf(event.data.caseNumber).toEqualTypeOf<number>(),
  )
})

test('the API of a vendor needs its own credentials', () => {
  vendors.plaid({ api: { clientId: 'me', secret: 's', timeout: 1000 } })
  vendors.onfido({ api: { token: 't' } })
  // @ts-expect-error its secret is missing
  vendors.plaid({ api: { clientId: 'me' } })
  // @ts-expect-error a token is needed
  vendors.onfido({ api: { key: 'k', secret: 's' } })
  // @ts-expect-error this vendor's decisions are in its webhooks
  vendors.veriff({ api: { token: 't' } })
  const receiver = createReceiver({ vendor: vendors.plaid(), secret: 's', accept: ['api'] })
  receiver.on('verification.approved', ({ decidedBy }) => {
    expectTypeOf(decidedBy).toEqualTypeOf<'signed' | 'api' | 'unsigned' | undefined>()
  })
  // @ts-expect-error there is no such way
  createReceiver({ vendor: vendors.plaid(), secret: 's', accept: ['token'] })
})
