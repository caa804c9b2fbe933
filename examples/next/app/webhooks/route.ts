// Next.js, App Router.
import { toNext } from 'idv-webhooks/next'
import { receiver } from '../../receiver'

export const POST = toNext(receiver)
