// The subscriptions: which events go to which address, and the secrets that sign them.
import { defined } from '../../../src/foundation/defined.ts'
import {
  canonicalName,
  covers,
  type EventName,
  isLegacyName,
  legacyNameOf,
} from '../../../src/protocol/names.ts'
import type { VirtualClock } from '../clock.ts'
import { checked } from '../exchange.ts'
import { invalidFields } from '../http-error.ts'
import { profile } from '../profile.ts'
import type { SeededRandom } from '../random.ts'
import {
  type RotateOptions,
  rotateBody,
  type SubscriptionInput,
  type SubscriptionPatch,
  subscriptionBody,
  subscriptionPatch,
} from '../schemas/control.ts'
import type { SubscriptionRow } from '../schemas/snapshot.ts'

/** A subscription as its owner sees it. */
export type Subscription = Readonly<Omit<SubscriptionRow, 'previous'>>

export interface SubscriptionsOptions {
  readonly clock: VirtualClock
  readonly random: SeededRandom
  readonly secret: () => string
  readonly hasOrganization: (id: string) => boolean
  /** Called with each row that was made or changed, and with undefined for one removed. */
  readonly onChange: (id: string, row: SubscriptionRow | undefined) => void
}

/** The subscriptions; input is checked, and refused (422) with each field that is wrong. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  readonly #rows = new Map<string, SubscriptionRow>()

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  list(): readonly Subscription[] {
    return this.rows().map(shown)
  }

  get(id: string): Subscription | undefined {
    const row = this.#rows.get(id)
    return row && shown(row)
  }

  create(input: SubscriptionInput): Subscription {
    const read = checked(subscriptionBody, input, 'request body')
    const { clock, random, secret, hasOrganization } = this.#options
    if (read.organizationId !== null && !hasOrganization(read.organizationId)) {
      const message = 'must be the id of an organization'
      throw invalidFields([{ field: 'organizationId', message }])
    }
    const createdAt = clock.now().toISOString()
    return this.#put({ id: random.uuid(), ...read, secret: read.secret ?? secret(), createdAt })
  }

  update(id: string, patch: SubscriptionPatch): Subscription | undefined {
    const read = checked(subscriptionPatch, patch, 'request body')
    const row = this.#rows.get(id)
    return row && this.#put({ ...row, ...defined(read) })
  }

  remove(id: string): boolean {
    const existed = this.#rows.delete(id)
    if (existed) this.#options.onChange(id, undefined)
    return existed
  }

  rotateSecret(id: string, options: RotateOptions = {}): Subscription | undefined {
    const { clock, random } = this.#options
    const read = checked(rotateBody, options, 'request body')
    const row = this.#rows.get(id)
    if (!row) return undefined
    const overlap = read.overlapSeconds ?? profile.rotationOverlapSeconds
    const until = new Date(clock.now().getTime() + overlap * 1000).toISOString()
    const secret = read.secret ?? random.token()
    return this.#put({ ...row, secret, previous: { secret: row.secret, until } })
  }

  row(id: string): SubscriptionRow | undefined {
    return this.#rows.get(id)
  }

  rows(): SubscriptionRow[] {
    return [...this.#rows.values()]
  }

  load(rows: readonly SubscriptionRow[]): void {
    this.#rows.clear()
    for (const row of rows) this.#rows.set(row.id, row)
  }

  #put(row: SubscriptionRow): Subscription {
    this.#rows.set(row.id, row)
    this.#options.onChange(row.id, row)
    return shown(row)
  }
}

function shown({ previous: _, ...subscription }: SubscriptionRow): Subscription {
  return subscription
}

/** The secrets that sign now: the current one, and the one before it while they overlap. */
export function signingSecrets({ secret, previous }: SubscriptionRow, now: Date): string[] {
  const overlaps = previous !== undefined && now.getTime() < Date.parse(previous.until)
  return overlaps ? [secret, previous.secret] : [secret]
}

/** Legacy filters give the legacy name (section 6, rule 2), filters of both forms give both. */
export function namesFor(filters: readonly string[], name: EventName): string[] {
  const fitting = filters.filter((filter) => covers(canonicalName(filter), name))
  const legacy = fitting.some(isLegacyName) ? legacyNameOf(name) : undefined
  const isCurrent = fitting.some((filter) => !isLegacyName(filter))
  return [...(isCurrent ? [name] : []), ...(legacy ? [legacy] : [])]
}
