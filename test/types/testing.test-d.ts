import {
  createReceiver,
  type EventMap,
  type EventOf,
  type Receiver,
  type WebhookEvent,
} from 'idv-webhooks'
import { type Recorder, recordHandlers } from 'idv-webhooks/testing'
import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'

const recorder = recordHandlers(createReceiver({ secret: 's' }))

test('waitFor gives the event of a name, of a family and of a legacy name', async () => {
  const approved = await recorder.waitFor('verification.approved', { timeout: 1 })
  expectTypeOf(approved).toEqualTypeOf<EventOf<'verification.approved'>>()
  expectTypeOf(approved.data.subjectName).toEqualTypeOf<string | null | undefined>()
  // @ts-expect-error a verification has no such field
  approved.data.nameFirst
  const legacy = await recorder.waitFor('request.approved')
  expectTypeOf(legacy).toEqualTypeOf<EventOf<'verification.approved'>>()
  const { name } = await recorder.waitFor('client.*')
  expectTypeOf(name).toEqualTypeOf<keyof EventMap & `client.${string}`>()
  const { decision } = await recorder.waitFor('verification.reversed')
  expectTypeOf(decision).not.toBeAny()
})

test('waitFor gives any event for *, for another text and for a function that does not narrow', async () => {
  const text: string = 'a name'
  expectTypeOf(await recorder.waitFor('*')).toEqualTypeOf<WebhookEvent>()
  expectTypeOf(await recorder.waitFor('check.completed')).toEqualTypeOf<WebhookEvent>()
  expectTypeOf(await recorder.waitFor(text)).toEqualTypeOf<WebhookEvent>()
  const known = await recorder.waitFor((event) => event.known && event.data.id === 'ver_1')
  expectTypeOf(known).toEqualTypeOf<WebhookEvent>()
  const narrowed = await recorder.waitFor((event) => event.name === 'client.created' && event.known)
  expectTypeOf(narrowed).toEqualTypeOf<EventOf<'client.created'>>()
})

test('a recorder has the events of its receiver: those of schemas of your own too', async () => {
  expectTypeOf(recorder).toEqualTypeOf<Recorder>()
  expectTypeOf(recorder.events).toEqualTypeOf<readonly WebhookEvent[]>()
  const schemas = { 'matter.closed': z.object({ matter: z.string() }) }
  const own = recordHandlers(createReceiver({ secret: 's', schemas }), ['matter.*'])
  expectTypeOf((await own.waitFor('matter.closed')).data).toEqualTypeOf<{ matter: string }>()
  expectTypeOf((await own.waitFor('client.created')).data.id).toEqualTypeOf<string>()
  const onAlone: Pick<Receiver, 'on'> = createReceiver({ secret: 's' })
  expectTypeOf(recordHandlers(onAlone)).toEqualTypeOf<Recorder>()
})
