// inbox show: all details of an entry; payload and address are masked unless requested.
import type { Entry } from '../../../../src/inbox/index.ts'
import { exitCodes } from '../../exit-code.ts'
import { withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import { entryDetails, entryRecord, shownDelivery } from '../../inbox/print-entry.ts'
import { printable } from '../../output.ts'
import { act, declare, type Session } from '../../session.ts'

interface ShowOptions extends InboxChoice {
  readonly showPayload?: boolean
}

export const inboxShow = (session: Session) =>
  declare('show', {
    summary: 'show all details of an entry',
    details: [
      'Shows the state of an entry, its failures and which handlers have succeeded. The payload is masked, except for values known to be harmless; --show-payload shows all of it, with the headers and the address.',
    ],
    examples: [
      'idv-webhooks inbox show --inbox inbox.db 01997f3a-2c41-7b5e-9d0a-6f1e2c3b4a59',
      'idv-webhooks inbox show --inbox inbox.db 01997f3a-2c41-7b5e-9d0a-6f1e2c3b4a59 --show-payload --json',
    ],
  })
    .argument('<ids...>', 'ids of entries')
    .addOption(inboxOption())
    .option('--show-payload', 'print the payload, headers and address unmasked')
    .action(act<ShowOptions>(session, (options, ids) => run(session, options, ids)))

async function run(session: Session, options: ShowOptions, ids: readonly string[]) {
  const { out } = session
  return withInbox(session, options, async ({ inbox }) => {
    let missing = 0
    for (const id of ids) {
      const entry = await inbox.get(id, { withDelivery: true })
      if (entry) await printEntry(session, entry, options.showPayload === true)
      else {
        missing += 1
        out.record({ type: 'missing', id })
        out.say(`${printable(id)} is not in the inbox: inbox list shows the ids of its entries`)
      }
    }
    return missing === 0 ? exitCodes.ok : exitCodes.failed
  })
}

async function printEntry({ out }: Session, entry: Entry, shown: boolean): Promise<void> {
  const { delivery } = entry
  const { payload, url } = delivery ? await shownDelivery(delivery, shown) : {}
  const headers = shown ? delivery?.headers : undefined
  out.record({
    ...entryRecord(entry),
    ...(delivery?.secretId !== undefined && { secretId: delivery.secretId }),
    ...(headers && { headers }),
    ...(payload !== undefined && { payload, masked: !shown }),
  })
  const line = (word: string, value: string) => out.data(`${word.padEnd(11)} ${value}`)
  for (const [word, value] of entryDetails(out, entry, url)) {
    line(word, word === 'state' ? value : printable(value))
  }
  for (const [name, value] of headers ?? []) line('header', printable(`${name}: ${value}`))
  if (payload === undefined) line('payload', entry.erased ? 'erased' : 'encrypted with another key')
  else {
    line('payload', `${entry.bytes} bytes${shown ? '' : ', masked (--show-payload shows it)'}`)
    for (const one of payload.split('\n')) out.data(printable(one))
  }
}
