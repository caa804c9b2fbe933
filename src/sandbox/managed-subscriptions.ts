// What may be asked of the subscriptions, by a request or by a call: the fields are checked, the
// organization must be there, and one that names no secret gets the sandbox's.

import { checked } from './exchange.ts'
import { invalid } from './http-error.ts'
import type { EngineDeliveries } from './ports.ts'
import { rotateBody, subscriptionBody, subscriptionPatch } from './schemas/control-schemas.ts'

export type Subscriptions = EngineDeliveries['subscriptions']

export interface SubscriptionRules {
  readonly secret: () => string
  readonly hasOrganization: (id: string) => boolean
}

/** Refuses (422) what is wrong, each field of it. */
export function managedSubscriptions(
  subscriptions: Subscriptions,
  { secret, hasOrganization }: SubscriptionRules,
): Subscriptions {
  return {
    ...subscriptions,
    create(input) {
      const read = checked(subscriptionBody, input, 'request body')
      const owner = read.organizationId
      if (owner !== null && !hasOrganization(owner)) {
        throw invalid([{ field: 'organizationId', message: 'names no organization' }])
      }
      return subscriptions.create({ ...read, secret: read.secret ?? secret() })
    },
    update: (id, patch) =>
      subscriptions.update(id, checked(subscriptionPatch, patch, 'request body')),
    rotateSecret: (id, options = {}) =>
      subscriptions.rotateSecret(id, checked(rotateBody, options, 'request body')),
  }
}
