// The sandbox's records as its console reads them: as its routes give them, in JSON.

import type { Pagination } from '../../../../src/protocol/api-schemas.ts'
import type { Client, Verification } from '../../../../src/protocol/resources.ts'
import type {
  AttemptProof,
  DueItem,
  ListedDelivery,
  ListedKey,
  ListedSubscription,
  Overview,
  ShownVerification,
} from '../../../sandbox/console.ts'
import type { DeliverySummary, SandboxDelivery } from '../../../sandbox/schemas/deliveries.ts'
import type { Mail, Organization, TrailEntry } from '../../../sandbox/schemas/snapshot.ts'
import { call } from '../call.ts'

export type {
  AttemptProof,
  Client,
  DeliverySummary,
  DueItem,
  ListedDelivery,
  ListedKey,
  ListedSubscription,
  Mail,
  Organization,
  Overview,
  SandboxDelivery,
  ShownVerification,
  TrailEntry,
  Verification,
}

export interface PageOf<Item> {
  readonly data: readonly Item[]
  readonly pagination: Pagination
}

export interface Assumptions {
  readonly data: readonly Readonly<Record<'section' | 'topic' | 'decision', string>>[]
  readonly magicNames: readonly { readonly name: string; readonly effect: string }[]
}

export const control = '/_sandbox'
export const api = '/v2/api'
export const own = '/_console'

/** A question for the whole of a page's data. */
const whole = <Data>(path: string, on: readonly string[] = []) => ({
  key: path,
  ask: (signal?: AbortSignal) => call<Data>(path, signal && { signal }),
  on,
})

const everything = ['delivery', 'verification', 'clock', 'state']
export const overview = whole<Overview>(`${own}/overview`, everything)
export const assumptions = whole<Assumptions>(`${control}/assumptions`)
