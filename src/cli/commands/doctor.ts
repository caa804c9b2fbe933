// doctor: to come.
import { declare, type Session } from '../session.ts'

export const doctor = (_session: Session) => declare('doctor', { summary: 'to come', examples: [] })
