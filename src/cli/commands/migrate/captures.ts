// migrate captures: to come.
import { declare, type Session } from '../../session.ts'

export const migrateCaptures = (_session: Session) =>
  declare('captures', { summary: 'to come', examples: [] })
