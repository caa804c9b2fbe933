// The sandbox's records as its console reads them.
import type {
  AssembledVerification,
  Client,
  Pagination,
  Verification,
} from '../../../../src/protocol/resources.ts'
import { call } from '../call.ts'

export type { Client, Pagination, Verification }

export type Assembled = Omit<AssembledVerification, 'steps'> & {
  readonly steps: readonly TrailRow[]
}

export interface TrailRow {
  readonly at: string
  readonly action: string
  readonly actor: string
  readonly step: string | null
  readonly status: string
  readonly reason?: string
}

export interface ListPage<Item> {
  readonly data: readonly Item[]
  readonly pagination: Pagination
}

export interface DeliveryLine {
  readonly id: string
  readonly subscriptionId: string
  readonly eventId: string
  readonly event: string
  readonly canonicalEvent: string
  readonly resourceId: string
  readonly createdAt: string
  readonly status: string
  readonly nextAttemptAt: string | null
  readonly fault?: string
  readonly attempts: readonly AttemptSummary[]
}

export interface AttemptSummary {
  readonly at: string
  readonly status?: number
  readonly error?: string
  readonly fault?: string
}

export interface DeliveryRecord extends Omit<DeliveryLine, 'attempts'> {
  /** Base64 of what was signed. */
  readonly body: string
  readonly attempts: readonly AttemptRow[]
}

export interface AttemptRow {
  readonly at: string
  readonly durationMs?: number
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }
  readonly response?: {
    readonly status: number
    readonly headers: readonly (readonly [string, string])[]
    readonly body: string
    readonly truncated?: boolean
  }
  readonly error?: string
  readonly fault?: string
}

export interface ListedSubscription {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  readonly secret: string
  readonly active: boolean
  readonly organizationId: string | null
  readonly createdAt: string
}

export interface MailRow {
  readonly id: string
  readonly kind: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly verificationId: string
  readonly createdAt: string
  readonly link?: string
  readonly shared?: Readonly<Record<string, unknown>>
  readonly transport: string
  readonly error?: string
}

export interface OrganizationRow {
  readonly id: string
  readonly name: string
  readonly plan: string
  readonly subscriptionActive: boolean
  readonly ratePerMinute: number | null
}

export const control = '/_sandbox'
export const api = '/v2/api'

/** Keys of the seeded organizations, for what is done over the API itself. */
const seededKeys: Readonly<Record<string, string>> = {
  org_acme: 'key_acme',
  org_globex: 'key_globex',
  org_initech: 'key_initech',
  org_hooli: 'key_noplan',
  org_umbrella: 'key_unpaid',
  org_vandelay: 'key_limited',
}

/** The key with which the console acts for an organization. */
export function keyOf(organizationId: string): string {
  return seededKeys[organizationId] ?? ''
}

/** Reads a list of the API as an organization sees it, at no cost for its rate. */
export function read<Answer>(path: string, organizationId: string, signal?: AbortSignal) {
  return call<Answer>(`/_console/api${path}`, {
    headers: { 'x-console-organization': organizationId },
    ...(signal && { signal }),
  })
}
