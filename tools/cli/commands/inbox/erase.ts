// inbox forget, purge: erase the payloads of a person, and what is past its retention.
import { defined } from '../../../../src/foundation/defined.ts'
import type { EntryFilter, Inbox } from '../../../../src/inbox/index.ts'
import { CliError, exitCodes } from '../../exit-code.ts'
import { entityFrom, entriesOf } from '../../inbox/filter-options.ts'
import {
  type FoundInbox,
  type InboxChoice,
  inboxOption,
  withInbox,
} from '../../inbox/find-inbox.ts'
import { numberFrom, repeating, someText } from '../../option-values.ts'
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
    details: [
      'Permanently erases the payloads of an entity and of related events (for a client, also those of its verifications), of every tenant unless --tenant or --no-tenant is given. Handlers of open entries do not run. A late copy of an event is still recognized as a duplicate. Asks for confirmation (--yes).',
    ],
    examples: ['idv-webhooks inbox forget --inbox inbox.db client:cli_42'],
  })
    .argument('<entities...>', 'client:<id> or verification:<id>', repeating(entityFrom))
    .addOption(inboxOption())
    .option('--tenant <name>', 'only of this tenant', someText)
    .option('--no-tenant', 'only of no tenant')
    .option('--yes', 'skip the confirmation prompt')
    .action(act(session, forget))

async function forget(
  session: Session,
  options: ForgetCommandOptions,
  entities: readonly string[],
) {
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

interface PurgeOptions extends InboxChoice {
  readonly done?: number
  readonly dead?: number
  readonly keys?: number
  readonly yes?: boolean
}

const days = numberFrom(0.001)

export const inboxPurge = (session: Session) =>
  declare('purge', {
    summary: 'erase what is past its retention',
    details: [
      'Erases payloads of done entries (after 7 days) and of dead or skipped ones (90 days), and the keys that detect duplicates (30 days). A worker does the same every hour with the retention of its own inbox. Asks for confirmation (--yes).',
    ],
    examples: ['idv-webhooks inbox purge --inbox inbox.db --done 1 --dead 30'],
  })
    .addOption(inboxOption())
    .option('--done <days>', 'erase payloads of entries done for this long', days)
    .option('--dead <days>', 'erase payloads of entries dead or skipped for this long', days)
    .option('--keys <days>', 'detect duplicates for this long', days)
    .option('--yes', 'skip the confirmation prompt')
    .action(act(session, purge))

async function purge(session: Session, options: PurgeOptions) {
  const { done, dead, keys } = options
  const retention = defined({ done, dead, keys })
  return withInbox(session, { ...options, retention }, async (found) => {
    const { made, inbox, where } = found
    if (!made && Object.keys(retention).length > 0) {
      throw new CliError(
        'USAGE',
        'the inbox of the config file has its own retention: change it there',
      )
    }
    await needConsent(session, options, `this permanently erases ${described(found)} in ${where}`)
    const { out } = session
    out.progress('erasing what is past its retention')
    const purged = await inbox.purge()
    out.record({ type: 'purged', ...purged })
    out.data(`${count(purged.erased, 'payload')} erased, ${count(purged.deleted, 'row')} deleted`)
    return exitCodes.ok
  })
}

function described({ made }: FoundInbox): string {
  if (!made) return 'what is past its retention'
  const { done = 7, dead = 90, keys = 30 } = made.retention ?? {}
  return `payloads done for ${done} days or dead for ${dead}, and keys older than ${keys} days,`
}
