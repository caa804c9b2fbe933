// What a run of probes leaves behind in the inbox of the app: said by their ids, with the way to be
// rid of them. Nothing of it is a person's, and none of it ran a handler of an event.
import type { Entry, Inbox } from '../../inbox/index.ts'
import { type FoundInbox, openFound } from '../inbox/find-inbox.ts'
import { count } from '../output.ts'
import type { Session } from '../session.ts'
import { type Probe, probeEvent } from './probes.ts'

/** What is known of it: the probes that were kept, and since when. */
export interface Leftovers {
  readonly probes: ReadonlySet<Probe>
  readonly since: Date
  readonly found: FoundInbox | undefined
}

/** Tells what was left; silent when nothing was. */
export async function tellLeftovers(session: Session, leftovers: Leftovers): Promise<void> {
  const { probes, found } = leftovers
  if (probes.size === 0) return
  const { out } = session
  const eventIds = [...probes].flatMap((probe) => eventIdOf(probe) ?? [])
  const unreadable = probes.size - eventIds.length
  const entries = found ? await entriesOf(session, found, leftovers) : undefined
  const told = entries?.map(({ id, state, eventId }) => ({
    id,
    state,
    ...(eventId && { eventId }),
  }))
  out.record({
    type: 'left',
    event: probeEvent,
    eventIds,
    unreadable,
    ...(told && { entries: told }),
  })
  out.say(
    `left in the inbox: ${count(eventIds.length, 'entry', 'entries')} of the event ${probeEvent}, and ${count(unreadable, 'dead letter')} that cannot be read`,
  )
  for (const { id, state, eventId } of told ?? [])
    out.say(`  ${id}  ${state}  ${eventId ?? ''}`.trimEnd())
  if (!told) for (const id of eventIds) out.say(`  event id ${id}`)
  for (const line of advice(found, told ?? [])) out.say(line)
}

function advice(
  found: FoundInbox | undefined,
  told: readonly { readonly id: string; readonly state: string }[],
): readonly string[] {
  const file = found
    ? found.file === undefined
      ? ''
      : ` --inbox ${found.where}`
    : ' --inbox <file>'
  const dead = told.filter(({ state }) => state === 'dead').map(({ id }) => id)
  const ids = dead.length > 0 ? dead.join(' ') : '<ids>'
  return [
    `settle the dead ones: idv-webhooks inbox dismiss${file} ${ids} --yes`,
    'the others are skipped, wait for nothing and go with the retention of the inbox; --leave-nothing leaves none',
  ]
}

function eventIdOf({ body }: Probe): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    const json = JSON.parse(text) as { readonly id?: string } | null
    return json?.id
  } catch {
    return undefined
  }
}

async function entriesOf(
  session: Session,
  found: FoundInbox,
  { probes, since }: Leftovers,
): Promise<readonly Entry[] | undefined> {
  try {
    await openFound(session, found)
  } catch {
    // It has been told already that the inbox does not open.
    return undefined
  }
  try {
    return await lookUp(found.inbox, { bodies: [...probes].map(({ body }) => body), since })
  } finally {
    await found.inbox.close()
  }
}

async function lookUp(
  inbox: Inbox,
  { bodies, since }: { readonly bodies: readonly Uint8Array[]; readonly since: Date },
): Promise<readonly Entry[]> {
  const own: Entry[] = []
  let cursor: string | undefined
  do {
    const page = await inbox.find({ since, limit: 500, ...(cursor && { cursor }) })
    for (const { id } of page.entries) {
      const entry = await inbox.get(id, { withDelivery: true })
      const body = entry?.delivery?.body
      if (entry && body && bodies.some((one) => Buffer.compare(one, body) === 0)) own.push(entry)
    }
    cursor = page.cursor
  } while (cursor !== undefined)
  return own
}
