// migrate: moves a project from the legacy event names to the current ones, in a safe order.
import { declare, type Session } from '../session.ts'
import { migrateCode } from './migrate/code.ts'
import { migrateStatus } from './migrate/status.ts'
import { subscriptionsCommand } from './migrate/subscriptions.ts'

export const migrate = (session: Session) =>
  declare('migrate', {
    summary: 'migrate from the legacy event names to the current ones',
    details: [
      'Migrates from request.* to verification.*, in this order:',
      [
        '1. the receiver           deploy createReceiver(): it accepts both names',
        '2. migrate code           rename the events in your handlers',
        '3. migrate subscriptions  replace subscriptions one by one',
        '4. your own tables        rename stored events: the SQL is in docs/migrate.md',
        '5. migrate status         see which legacy names still arrive',
        "6. legacy: 'reject'       set it in the receiver when status says so",
      ].join('\n'),
    ],
    examples: [
      'migrate code src',
      'migrate subscriptions http://localhost:4747',
      'migrate status --inbox inbox.db',
    ],
  })
    .addCommand(migrateCode(session))
    .addCommand(subscriptionsCommand(session))
    .addCommand(migrateStatus(session))
