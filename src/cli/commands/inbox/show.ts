// inbox show: all that is known of an entry; its payload masked unless that is asked for.

import type { Entry } from '../../../inbox/index.ts'
import { exitCodes } from '../../exit-code.ts'
import { withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import { entryFacts, entryRecord, payloadOf } from '../../inbox/print-entry.ts'
import { printable } from '../../output.ts'
import { act, declare, type Session } from '../../session.ts'

interface ShowOptions extends InboxChoice {
  readonly showPayload?: boolean
}

export const inboxShow = (session: Session) =>
  declare('show', {
    summary: 'show all that is known of an entry',
    details: [
      'Shows where an entry stands, what failed and which handlers have succeeded. Of the payload only what is known to be harmless is readable; --show-payload shows all of it, and the kept headers.',
    ],
    examples: [
      'idv-webhooks inbox show --inbox inbox.db 01K6ZT2M',
      'idv-webhooks inbox show --inbox inbox.db 01K6ZT2M --show-payload --json',
    ],
  })
    .argument('<ids...>', 'ids of entries')
    .addOption(inboxOption())
    .option('--show-payload', 'print the payload and headers as they came')
    .action(act<ShowOptions>(session, (options, ids) => run(session, options, ids)))

async function run(session: Session, options: ShowOptions, ids: readonly string[]) {
  const { out } = session
  return withInbox(session, options, async ({ inbox }) => {
    let missing = 0
    for (const id of ids) {
      const entry = await inbox.get(id, { withDelivery: true })
      if (entry) await tell(session, entry, options.showPayload === true)
      else {
        missing += 1
        out.record({ type: 'missing', id })
        out.say(`${printable(id)} is not in the inbox`)
      }
    }
    return missing === 0 ? exitCodes.ok : exitCodes.failed
  })
}

async function tell({ out }: Session, entry: Entry, shown: boolean): Promise<void> {
  const { delivery } = entry
  const payload = delivery && (await payloadOf(delivery, shown))
  const headers = shown ? delivery?.headers : undefined
  out.record({
    ...entryRecord(entry),
    ...(delivery?.secretId !== undefined && { secretId: delivery.secretId }),
    ...(headers && { headers }),
    ...(payload !== undefined && { payload, masked: !shown }),
  })
  const line = (word: string, fact: string) => out.data(`${word.padEnd(11)} ${fact}`)
  for (const [word, fact] of entryFacts(out, entry)) {
    line(word, word === 'state' ? fact : printable(fact))
  }
  for (const [name, value] of headers ?? []) line('header', printable(`${name}: ${value}`))
  if (payload === undefined) line('payload', entry.erased ? 'erased' : 'sealed with another key')
  else {
    line('payload', `${entry.bytes} bytes${shown ? '' : ', masked (--show-payload shows it)'}`)
    for (const one of payload.split('\n')) out.data(printable(one))
  }
}
