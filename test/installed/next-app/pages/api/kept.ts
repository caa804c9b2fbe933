import { toNextPages } from 'idv-webhooks/next'
import { receiver } from '../../inbox-receiver'

export const config = { api: { bodyParser: false } }

export default toNextPages(receiver)
