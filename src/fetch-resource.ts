// The current truth behind an event: late and reordered events do no harm to who asks for it.
import { WebhookError } from './errors.ts'
import type { ResourceReader } from './options.ts'
import type { WebhookEvent } from './protocol/events.ts'

/**
 * Reads the resource that an event names; null when it is gone or the event names none.
 *
 * @throws WebhookError `CLIENT_MISSING`
 */
export async function fetchResource(client: ResourceReader | undefined, event: WebhookEvent) {
  if (!client) {
    throw new WebhookError(
      'CLIENT_MISSING',
      'context.fetch() needs a client: createReceiver({ secret, client: createClient({ … }) })',
    )
  }
  const { type, id } = event.entity ?? {}
  if (!id) return null
  try {
    if (type === 'verification') return await client.verifications.get(id)
    return type === 'client' ? await client.clients.get(id) : null
  } catch (error) {
    if ((error as { status?: unknown } | null)?.status === 404) return null
    throw error
  }
}
