// migrate: the way from the legacy event names to the current ones, in the order that is safe.
import { declare, type Session } from '../session.ts'
import { migrateCaptures } from './migrate/captures.ts'
import { migrateCode } from './migrate/code.ts'
import { migrateData } from './migrate/data.ts'
import { migrateStatus } from './migrate/status.ts'
import { migrateSubscriptions } from './migrate/subscriptions.ts'

export const migrate = (session: Session) =>
  declare('migrate', {
    summary: 'move from the legacy event names to the current ones',
    details: [
      'Moves from request.* to verification.*. The receiver takes both names from the start, so each step can be taken by itself; this order is safe:',
      [
        '1. migrate code           your handlers',
        '2. migrate subscriptions  a new subscription beside each old one, then without it',
        '3. migrate captures       recorded deliveries',
        '4. migrate data           stored event names',
        '5. migrate status         which legacy names still arrive, and until when to wait',
        "6. legacy: 'reject'       in the receiver, once it says that this is safe",
      ].join('\n'),
    ],
    examples: [
      'idv-webhooks migrate code src',
      'idv-webhooks migrate subscriptions http://localhost:4010',
      'idv-webhooks migrate data --dialect postgres --table webhook_events --column name',
    ],
  })
    .addCommand(migrateCode(session))
    .addCommand(migrateSubscriptions(session))
    .addCommand(migrateCaptures(session))
    .addCommand(migrateData(session))
    .addCommand(migrateStatus(session))
