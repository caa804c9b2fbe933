// discover: to come.
import { declare, type Session } from '../session.ts'

export const discover = (_session: Session) =>
  declare('discover', { summary: 'to come', examples: [] })
