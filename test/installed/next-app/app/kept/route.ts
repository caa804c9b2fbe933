import { toNext } from 'idv-webhooks/next'
import { receiver } from '../../inbox-receiver'

export const POST = toNext(receiver)
