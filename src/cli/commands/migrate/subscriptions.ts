// migrate subscriptions: to come.
import { declare, type Session } from '../../session.ts'

export const migrateSubscriptions = (_session: Session) =>
  declare('subscriptions', { summary: 'to come', examples: [] })
