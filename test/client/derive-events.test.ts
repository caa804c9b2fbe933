import { describe, expect, test } from 'vitest'
import { clientEvents, verificationEvents } from '../../src/client/derive-events.ts'
import type { Client, Verification } from '../../src/protocol/index.ts'
import { fixture } from '../../src/testing/fixture.ts'

const created = fixture('verification.created').data as Verification
const times = (data: Partial<Verification>, now = '2026-03-09T00:00:00Z') =>
  verificationEvents({ ...created, ...data }, new Date(now)).map(
    ({ name, occurredAt, changedAt }) => `${name} ${occurredAt} ${changedAt}`,
  )

describe('events of a verification', () => {
  const at = '2026-03-02T00:00:00Z'
  const [born] = times({})

  test('an open verification was created, and nothing else happened to it', () => {
    expect(times({ status: 'in_progress', updatedAt: at })).toEqual([born])
    expect(times({ status: 'a_later_status', updatedAt: at })).toEqual([born])
  })

  test('a submitted verification was submitted at `submittedAt`, else at its last update', () => {
    expect(times({ status: 'pending_review', submittedAt: at })).toEqual([
      born,
      `verification.submitted ${at} ${at}`,
    ])
    expect(times({ status: 'submitted', updatedAt: at })).toEqual([
      born,
      `verification.submitted ${at} ${at}`,
    ])
  })

  test.each(['approved', 'rejected', 'canceled'] as const)(
    'a verification in a final state was %s',
    (status) => {
      expect(times({ status, updatedAt: at })).toEqual([born, `verification.${status} ${at} ${at}`])
    },
  )

  test('an expired verification expired at its expiry, however late the service recorded it', () => {
    const expiresAt = '2026-03-01T23:00:00Z'
    expect(times({ status: 'expired', expiresAt, updatedAt: at })).toEqual([
      born,
      `verification.expired ${expiresAt} ${at}`,
    ])
  })

  test('an expired verification expired even if the service left updatedAt alone', () => {
    const expiresAt = '2026-03-01T23:00:00Z'
    const updatedAt = '2026-03-01T12:00:00Z'
    expect(times({ status: 'expired', expiresAt, updatedAt })).toEqual([
      born,
      `verification.expired ${expiresAt} ${expiresAt}`,
    ])
  })

  test('a verification that expired before its date did so at its last update', () => {
    const early = '2026-03-01T12:00:00Z'
    const expiresAt = '2026-03-10T00:00:00Z'
    expect(times({ status: 'expired', expiresAt, updatedAt: early })).toEqual([
      born,
      `verification.expired ${early} ${early}`,
    ])
  })
})

test('a client record shows its creation and deletion, never its updates', () => {
  const client = fixture('client.updated').data as Client
  expect(clientEvents(client).map(({ name }) => name)).toEqual(['client.created'])
  const deleted = fixture('client.deleted').data as Client
  expect(clientEvents(deleted).map(({ name, changedAt }) => [name, changedAt])).toEqual([
    ['client.created', deleted.createdAt],
    ['client.deleted', deleted.updatedAt],
  ])
})
