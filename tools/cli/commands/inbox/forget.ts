// inbox forget: erases the payloads of a person.
import type { EntryFilter, Inbox } from '../../../../src/inbox/index.ts'
import { exitCodes } from '../../exit-code.ts'
import { entityFrom, entriesOf } from '../../inbox/filter-options.ts'
import { type InboxChoice, inboxOption, withInbox } from '../../inbox/find-inbox.ts'
import { repeating, someText } from '../../option-values.ts'
import { count, printable } from '../../output.ts'
import { act, declare, needConsent, type Session } from '../../session.ts'

interface ForgetCommandOptions extends InboxChoice {
  /** False: of none. */
  readonly tenant?: string | false
  readonly yes?: boolean
}

export const inboxForget = (session: Session) =>
  declare('forget', {
    summary: 'erase the payloads of a client or a verification',
    details:
      'Permanently erases the payloads of an entity and of related events (for a client, also those of its verifications), of every tenant unless --tenant or --no-tenant is given. Handlers of open entries do not run. A late copy of an event is still recognized as a duplicate. Asks for confirmation (--yes).',
    examples: ['inbox forget --inbox inbox.db client:cli_42'],
  })
    .argument('<entities...>', 'client:<id> or verification:<id>', repeating(entityFrom))
    .addOption(inboxOption())
    .option('--tenant <name>', 'only of this tenant', someText)
    .option('--no-tenant', 'only of no tenant')
    .option('--yes', 'skip the confirmation prompt')
    .action(act(session, run))

async function run(session: Session, options: ForgetCommandOptions, entities: readonly string[]) {
  const { out, signal } = session
  const { tenant } = options
  const of = tenant === undefined ? {} : { tenant: tenant === false ? null : tenant }
  return withInbox(session, options, async ({ inbox, where }) => {
    let payloads = 0
    for (const entity of entities) payloads += await countPayloads(inbox, { entity, ...of })
    const what = count(payloads, 'payload')
    const whose = entities.map(printable).join(', ')
    await needConsent(session, options, `this permanently erases ${what} of ${whose} in ${where}`)
    let erased = 0
    let at = 0
    try {
      for (const entity of entities) {
        signal.throwIfAborted()
        const many = await inbox.forget(entity, of)
        erased += many
        at += 1
        out.record({ type: 'forgotten', entity, payloads: many })
        out.data(`${printable(entity)}  ${count(many, 'payload')} erased`)
        out.progress(`${at}/${entities.length} forgotten`)
      }
    } finally {
      out.record({ type: 'summary', entities: at, of: entities.length, payloads: erased })
      out.say(`${count(erased, 'payload')} erased, ${at} of ${entities.length} forgotten`)
    }
    return exitCodes.ok
  })
}

async function countPayloads(inbox: Inbox, filter: EntryFilter): Promise<number> {
  let many = 0
  for await (const { erased } of entriesOf(inbox, filter)) many += Number(!erased)
  return many
}
