// inbox purge: erases what is past its retention, as a worker does every hour.
import { needConsent } from '../../consent.ts'
import { CliError, exitCodes } from '../../exit-code.ts'
import { type FoundInbox, withInbox } from '../../inbox/find-inbox.ts'
import { type InboxChoice, inboxOption } from '../../inbox/inbox-option.ts'
import { count } from '../../output.ts'
import { act, declare, numberFrom, type Session } from '../../session.ts'

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
      'Erases payloads of entries that are done (7 days) or dead or skipped (90 days), and drops the keys that tell duplicates (30 days): by the options, else `retention` of the config file, else these. A worker does the same every hour by the retention of its own inbox. Asks for a yes, or --yes.',
    ],
    examples: ['idv-webhooks inbox purge --inbox inbox.db --done 1 --dead 30'],
  })
    .addOption(inboxOption())
    .option('--done <days>', 'erase payloads that have been done for so long', days)
    .option('--dead <days>', 'erase payloads that have been dead or skipped for so long', days)
    .option('--keys <days>', 'tell duplicates for so long', days)
    .option('--yes', 'the word of consent')
    .action(act<PurgeOptions>(session, (options) => run(session, options)))

async function run(session: Session, options: PurgeOptions) {
  const { done, dead, keys } = options
  const retention = {
    ...(done !== undefined && { done }),
    ...(dead !== undefined && { dead }),
    ...(keys !== undefined && { keys }),
  }
  return withInbox(session, { ...options, retention }, async (found) => {
    const { made, inbox, where } = found
    if (!made && Object.keys(retention).length > 0) {
      throw new CliError('USAGE', 'error: the inbox of the config file has a retention of its own')
    }
    await needConsent(session, options, `this erases ${described(found)} in ${where} for good`)
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
  return `payloads done for ${done} days or dead for ${dead}, and keys of ${keys} days,`
}
