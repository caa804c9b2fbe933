import { toNext } from 'idv-webhooks/next'
import { watchLoop } from '../../../loop-watch'
import { attackedReceiver } from '../../../receiver'

// A build loads this file too, without a port.
if (process.env.STATS_PORT) await watchLoop(Number(process.env.STATS_PORT))

export const POST = toNext(attackedReceiver())
