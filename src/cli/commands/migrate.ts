// migrate: to come.
import { declare, type Session } from '../session.ts'

export const migrate = (_session: Session) =>
  declare('migrate', { summary: 'to come', examples: [] })
