import { toNext } from 'idv-webhooks/next'
import { receiverOf } from '../../../contenders/idv-webhooks'
import { sample } from '../handler'

export const POST = toNext(receiverOf(sample))
