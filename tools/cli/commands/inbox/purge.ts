// inbox purge: erases what is past its retention, as a worker does every hour.
import { defined } from '../../../../src/foundation/defined.ts'
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
      'Erases payloads of done entries (after 7 days) and of dead or skipped ones (90 days), and the keys that detect duplicates (30 days). The options override `retention` of the config file, which overrides these defaults. A worker does the same every hour with the retention of its own inbox. Asks for confirmation (--yes).',
    ],
    examples: ['idv-webhooks inbox purge --inbox inbox.db --done 1 --dead 30'],
  })
    .addOption(inboxOption())
    .option('--done <days>', 'erase payloads of entries done for this long', days)
    .option('--dead <days>', 'erase payloads of entries dead or skipped for this long', days)
    .option('--keys <days>', 'detect duplicates for this long', days)
    .option('--yes', 'skip the confirmation prompt')
    .action(act<PurgeOptions>(session, (options) => run(session, options)))

async function run(session: Session, options: PurgeOptions) {
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
