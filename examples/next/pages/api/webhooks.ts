// Next.js, Pages Router: its own body parser has to be switched off.
import { toNextPages } from 'idv-webhooks/next'
import { receiver } from '../../receiver'

export const config = { api: { bodyParser: false } }

export default toNextPages(receiver)
