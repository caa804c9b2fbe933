import { inboxConsole } from 'idv-webhooks/console'
import { inbox } from '../../../../kept-inbox'

const { fetch } = inboxConsole(inbox, {
  authorize: ({ headers }) => headers.get('x-forwarded-user') ?? false,
  basePath: '/kept/console',
})
export const GET = fetch
export const POST = fetch
