import express from 'express'
import fastify from 'fastify'
import {
  createReceiver,
  type EventMap,
  type Outcome,
  parse,
  type Receiver,
  type UnknownEvent,
  type VerificationStatus,
  verify,
  type WebhookEvent,
} from 'idv-webhooks'
import { toExpress } from 'idv-webhooks/express'
import { toFastify } from 'idv-webhooks/fastify'
import { toNextPages } from 'idv-webhooks/next'
import { canonicalName, strictEventSchemas } from 'idv-webhooks/protocol'
import type { NextApiHandler } from 'next'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'

const receiver = createReceiver({ secret: 's' })

test('an event is typed by its name', () => {
  receiver.on('verification.approved', (event, context) => {
    expectTypeOf(event.name).toEqualTypeOf<'verification.approved'>()
    expectTypeOf(event.data.id).toEqualTypeOf<string>()
    expectTypeOf(event.data.subjectName).toEqualTypeOf<string | null | undefined>()
    expectTypeOf(event.known).toEqualTypeOf<true>()
    expectTypeOf(event.entity.id).toEqualTypeOf<string>()
    expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>()
    expectTypeOf(context.fetch).returns.resolves.exclude<null>().toHaveProperty('score')
    // @ts-expect-error a verification has no such field
    event.data.nameFirst
    // @ts-expect-error a misspelt field
    event.data.staus === 'approved'
    // @ts-expect-error also of the current resource
    context.fetch().then((found) => found?.scroe)
    // A value that the service added later is readable.
    if ('riskLevel' in event.data) expectTypeOf(event.data.riskLevel).toBeUnknown()
    // @ts-expect-error what travels is readonly
    event.name = 'verification.approved'
  })
  receiver.on(['client.created', 'client.updated'], (event, context) => {
    expectTypeOf(event.name).toEqualTypeOf<'client.created' | 'client.updated'>()
    expectTypeOf(event.data.nameFirst).toEqualTypeOf<string | null | undefined>()
    expectTypeOf(context.fetch).returns.resolves.exclude<null>().toHaveProperty('requestCount')
  })
  receiver.on('verification.*', (event) => {
    expectTypeOf(event.name).toEqualTypeOf<keyof EventMap & `verification.${string}`>()
    expectTypeOf(event.data.status).not.toBeAny()
  })
})

test('unknown events are a distinct type, never any', () => {
  const take = (event: WebhookEvent) => {
    expectTypeOf(event).not.toBeAny()
    if (event.known) expectTypeOf(event.data.id).toEqualTypeOf<string>()
    else {
      expectTypeOf(event).toEqualTypeOf<UnknownEvent>()
      expectTypeOf(event.data).toEqualTypeOf<unknown>()
      // @ts-expect-error nobody knows what an unknown event carries
      event.data.id
    }
  }
  receiver.on('*', take)
  receiver.fallback(take)
})

test('an enum value that was added later does not break an exhaustive switch', () => {
  receiver.on('verification.created', ({ data }) => {
    switch (data.status) {
      case 'approved':
        return 'yes'
      case 'rejected':
        return 'no'
      default:
        expectTypeOf(data.status).not.toBeNever()
        return data.status
    }
  })
})

test('the strict schemas make an error of a misspelt value, the open ones let later values in', () => {
  receiver.on('verification.approved', ({ data }) => data.status === 'on_hold')
  const strict = createReceiver({ secret: 's', schemas: strictEventSchemas })
  strict.on('verification.approved', ({ data }) => {
    expectTypeOf(data.status).toEqualTypeOf<VerificationStatus | undefined>()
    expectTypeOf(data.subjectName).toEqualTypeOf<string | null | undefined>()
    // @ts-expect-error a misspelt value
    if (data.status === 'aproved') return
    // @ts-expect-error a misspelt field
    data.staus
  })
  strict.on('client.*', ({ data }) => {
    // @ts-expect-error a misspelt value
    return data.memberType === 'busines'
  })
})

test('an unknown name does not compile; a legacy one does, deprecated', () => {
  // @ts-expect-error there is no such event
  receiver.on('verification.aproved', () => {})
  // @ts-expect-error nor such a family
  receiver.on('clients.*', () => {})
  // @ts-expect-error one wrong name spoils a list
  receiver.on(['client.created', 'client.erased'], () => {})
  receiver.on('request.approved', (event) => {
    expectTypeOf(event.name).toEqualTypeOf<'verification.approved'>()
  })
  receiver.on('request.*', (event) => {
    expectTypeOf(event.data.id).toEqualTypeOf<string>()
  })
  expectTypeOf(canonicalName('request.expired')).toEqualTypeOf<'verification.expired'>()
  expectTypeOf(canonicalName('client.created')).toEqualTypeOf<'client.created'>()
})

test('schemas of your own type the events', () => {
  const own = createReceiver({
    secret: 's',
    schemas: {
      'verification.approved': z.object({ id: z.string(), score: z.number() }),
      'matter.closed': z.object({ matter: z.string() }),
    },
  })
  own.on('verification.approved', (event) => {
    expectTypeOf(event.data).toEqualTypeOf<{ id: string; score: number }>()
  })
  own.on('matter.closed', (event) => {
    expectTypeOf(event.data.matter).toEqualTypeOf<string>()
  })
  own.on('matter.*', (event) => {
    expectTypeOf(event.name).toEqualTypeOf<'matter.closed'>()
  })
  own.on('client.created', (event) => {
    expectTypeOf(event.data.id).toEqualTypeOf<string>()
  })
  toExpress(own)
})

test('options that cannot hold do not compile', () => {
  // @ts-expect-error a secret is needed
  createReceiver({})
  // @ts-expect-error no such option
  createReceiver({ secret: 's', sceret: 't' })
  // @ts-expect-error a scheme is made by its builders
  createReceiver({ secret: 's', scheme: { header: 'X' } })
  // @ts-expect-error one of three words
  createReceiver({ secret: 's', validate: 'strict' })
})

test('outcomes and refusals narrow by their literals', () => {
  const say = (outcome: Outcome) => {
    switch (outcome.kind) {
      case 'handled':
      case 'ignored':
        return outcome.event.name
      case 'accepted':
      case 'duplicate':
        return outcome.entryId
      case 'rejected':
        if (outcome.code === 'SIGNATURE_MISMATCH') return outcome.diagnose()
        // @ts-expect-error no such code
        return outcome.code === 'SIGNATURE_WRONG'
      case 'failed':
        return outcome.errors
      default:
        return outcome satisfies never
    }
  }
  expectTypeOf(say).not.toBeAny()
})

test('unverified bytes cannot be parsed', async () => {
  const delivery = { body: new Uint8Array(), headers: {} }
  // @ts-expect-error nobody has verified them
  parse(delivery)
  const result = await verify(delivery, { secret: 's' })
  // @ts-expect-error nor a refusal
  parse(result)
  if (result.ok) parse(result)
})

test('adapters fit their frameworks', () => {
  express().post('/', toExpress(receiver))
  express().use(toExpress(receiver))
  fastify().register(toFastify(receiver), { path: '/webhooks' })
  // @ts-expect-error a path is needed
  fastify().register(toFastify(receiver))
  expectTypeOf(toNextPages(receiver)).toExtend<NextApiHandler>()
  expectTypeOf(receiver).toExtend<Pick<Receiver, 'handle'>>()
})
