// The handlers of one application. No vendor is named here: every dialect must be heard by them.
import type { EventMap, Receiver } from 'idv-webhooks'

/** The log of an application's handlers: one line for each event. */
export function applicationHandlers<Tx>(receiver: Receiver<EventMap, Tx>): readonly string[] {
  const heard: string[] = []
  receiver.on(['verification.created', 'verification.submitted'], ({ name, data }) => {
    heard.push(`${name} ${data.id} ${data.status}`)
  })
  receiver.on('verification.approved', ({ data, issues }) => {
    heard.push(`open the account of ${data.id} ${data.status}${issues ? ', which is odd' : ''}`)
  })
  receiver.on(['verification.rejected', 'verification.expired'], ({ data }, { supersedes }) => {
    heard.push(`refuse ${data.id} ${data.status}${supersedes ? ', again' : ''}`)
  })
  receiver.on('verification.reversed', ({ data, supersedes, decision }) => {
    heard.push(`take back ${supersedes.name} of ${data.id} for ${decision}`)
  })
  receiver.fallback(({ name }) => void heard.push(`look up ${name}`))
  return heard
}
