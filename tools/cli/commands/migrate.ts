// migrate: from the legacy event names to the current ones, in a safe order.
import { declare, type Session } from '../session.ts'
import { migrateCaptures } from './migrate/captures.ts'
import { migrateCode } from './migrate/code.ts'
import { migrateData } from './migrate/data.ts'
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
        '4. migrate captures       convert recorded deliveries',
        '5. migrate data           rename stored events',
        '6. migrate status         see which legacy names still arrive',
        "7. legacy: 'reject'       set it in the receiver when status says so",
      ].join('\n'),
    ],
    examples: [
      'idv-webhooks migrate code src',
      'idv-webhooks migrate subscriptions http://localhost:4747',
      'idv-webhooks migrate data --dialect postgres --table webhook_events --column name',
    ],
  })
    .addCommand(migrateCode(session))
    .addCommand(subscriptionsCommand(session))
    .addCommand(migrateCaptures(session))
    .addCommand(migrateData(session))
    .addCommand(migrateStatus(session))
