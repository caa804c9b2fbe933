// migrate data: to come.
import { declare, type Session } from '../../session.ts'

export const migrateData = (_session: Session) =>
  declare('data', { summary: 'to come', examples: [] })
