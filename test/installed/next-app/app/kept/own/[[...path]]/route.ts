import { inboxConsole } from 'idv-webhooks/console'
import { inbox } from '../../../../kept-inbox'

const inProduction = process.env.NODE_ENV === 'production'
const { fetch } = inboxConsole(inbox, {
  authorize: inProduction ? () => false : 'loopback',
  basePath: '/kept/own',
})
export const GET = fetch
