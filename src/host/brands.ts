// Marks that all copies of this package in one process share: the ES module and the CommonJS build,
// and the copy in each bundle of an application.

export const webhookErrorBrand: unique symbol = Symbol.for('idv-webhooks.WebhookError')
export const nonRetryableBrand: unique symbol = Symbol.for('idv-webhooks.NonRetryable')
export const apiErrorBrand: unique symbol = Symbol.for('idv-webhooks.ApiError')
/** The global property that holds the class of verified deliveries. */
export const verifiedDeliveryClass: unique symbol = Symbol.for('idv-webhooks.SignedDelivery')
/** The property of a receiver that holds its steps. */
export const receiverSteps: unique symbol = Symbol.for('idv-webhooks.receiver')
/** The property of a vendor that holds its code. */
export const vendorCode: unique symbol = Symbol.for('idv-webhooks.vendor')
/** The token of the receiver in a Nest application. */
export const nestReceiver: unique symbol = Symbol.for('idv-webhooks.nest.receiver')

/** The steps of a receiver; undefined for any other value. */
export function stepsOf<Inside>(receiver: unknown): Inside | undefined {
  if (typeof receiver !== 'object' || receiver === null) return undefined
  // Trust is granted here: only createReceiver() sets the property.
  return (receiver as { readonly [receiverSteps]?: Inside })[receiverSteps]
}
