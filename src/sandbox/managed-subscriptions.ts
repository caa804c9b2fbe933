// What may be asked of the subscriptions, by a request or by a call: the fields are checked, the
// organisation must be there, and one that names no secret gets the sandbox's.

import type { EngineDeliveries } from './engine.ts'
import { checked } from './exchange.ts'
import { invalid } from './refusal.ts'
import { rotateBody, subscriptionBody, subscriptionPatch } from './schemas/control-schemas.ts'

export type Subscriptions = EngineDeliveries['subscriptions']

export interface SubscriptionRules {
  readonly secret: () => string
  readonly hasOrganisation: (id: string) => boolean
}

/** Refuses (422) what is wrong, each field of it. */
export function managedSubscriptions(
  subscriptions: Subscriptions,
  { secret, hasOrganisation }: SubscriptionRules,
): Subscriptions {
  return {
    ...subscriptions,
    create(input) {
      const read = checked(subscriptionBody, input, 'request body')
      const owner = read.organisationId
      if (owner !== null && !hasOrganisation(owner)) {
        throw invalid([{ field: 'organisationId', message: 'names no organisation' }])
      }
      return subscriptions.create({ ...read, secret: read.secret ?? secret() })
    },
    update: (id, patch) =>
      subscriptions.update(id, checked(subscriptionPatch, patch, 'request body')),
    rotateSecret: (id, options = {}) =>
      subscriptions.rotateSecret(id, checked(rotateBody, options, 'request body')),
  }
}
