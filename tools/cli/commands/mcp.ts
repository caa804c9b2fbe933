// mcp: a server of the Model Context Protocol on stdin and stdout, for coding agents. It only reads:
// its tools find and show entries and count them; none changes an inbox or shows a payload.
import { exitCodes } from '../exit-code.ts'
import { type InboxChoice, inboxOption } from '../inbox/find-inbox.ts'
import { act, declare, type Session } from '../session.ts'

export const mcp = (session: Session) =>
  declare('mcp', {
    details: [
      'A server of the Model Context Protocol on stdin and stdout; a client such as an editor starts it. Its tools are inbox_find, inbox_show and inbox_stats. They change nothing, and payloads are always masked. The inbox is chosen here, not by the agent.',
    ],
    examples: ['idv-webhooks mcp --inbox inbox.db'],
  })
    .addOption(inboxOption())
    .action(act(session, run))

async function run(session: Session, options: InboxChoice) {
  const { serve } = await import('../mcp/serve.ts')
  if (session.stdin.isTTY) session.out.say('an MCP client must start this command; Ctrl-D ends it')
  await serve(session, options)
  return exitCodes.ok
}
