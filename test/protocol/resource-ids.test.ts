// An id beside the name of an event may be that of its resource, which all of its events share.
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox, memoryStore } from 'idv-webhooks/inbox'
import { expect, test } from 'vitest'

const secret = 'a-secret-of-resources'

/** The outcomes of the bodies, and the names of the handled events. */
async function received(bodies: readonly object[], envelope?: { readonly id: string }) {
  const inbox = createInbox({ store: memoryStore() })
  const receiver = createReceiver({ secret, inbox, ...(envelope && { envelope }) })
  const names: string[] = []
  receiver.on('*', ({ name }) => names.push(name))
  const kinds: string[] = []
  for (const one of bodies) {
    const body = new TextEncoder().encode(JSON.stringify(one))
    kinds.push((await receiver.receive({ body, headers: await sign(body, { secret }) })).kind)
  }
  await createWorker(receiver).runOnce()
  return { kinds, names }
}

const names = ['verification.created', 'verification.submitted', 'verification.approved']

test.each([
  ['text', 'ver_1', 'ver_1'],
  ['a number', 42, 42],
  ['a number and text', 42, '42'],
])('events whose id is that of their resource are all handled: %s', async (_, id, own) => {
  const bodies = names.map((event) => ({ id, event, data: { id: own, status: 'submitted' } }))
  expect(await received(bodies)).toEqual({ kinds: Array(3).fill('accepted'), names })
})

test('an eventId beside it is the key', async () => {
  const bodies = [...names, ...names].map((event) => {
    return { id: 'ver_1', eventId: `of ${event}`, event, data: { id: 'ver_1' } }
  })
  const { kinds, names: handled } = await received(bodies)
  expect(kinds).toEqual([...Array(3).fill('accepted'), ...Array(3).fill('duplicate')])
  expect(handled).toEqual(names)
})

test('an id that the envelope names is the event’s own, whatever the resource has', async () => {
  const body = { id: 'e1', event: names[0], data: { id: 'e1' } }
  const { kinds } = await received([body, body], { id: 'id' })
  expect(kinds).toEqual(['accepted', 'duplicate'])
})
