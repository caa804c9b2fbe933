// mcp: a server of the Model Context Protocol on stdin and stdout, for coding agents. It only reads:
// its tools find, show and check; none of them changes an inbox or shows a payload.
import { CliError, exitCodes } from '../exit-code.ts'
import { inboxOption } from '../inbox/find-inbox.ts'
import type { McpOptions } from '../mcp/tools.ts'
import { addressFrom } from '../option-values.ts'
import { schemeOption } from '../schemes.ts'
import { secretFileOption } from '../secrets.ts'
import { act, declare, type Session } from '../session.ts'

export const mcp = (session: Session) =>
  declare('mcp', {
    details: [
      'A server of the Model Context Protocol on stdin and stdout; a client such as an editor starts it. Its tools are inbox_find, inbox_show, inbox_stats, verify, discover and doctor. They change nothing, and payloads are always masked.',
      'The inbox, the secret and the scheme are chosen here, not by the agent. doctor tests the address of --to, and addresses of this machine.',
    ],
    examples: [
      'idv-webhooks mcp --inbox inbox.db',
      'idv-webhooks mcp --to https://staging.example.com/webhooks',
    ],
  })
    .addOption(inboxOption())
    .option('--to <url>', 'address of the receiver that doctor tests', addressFrom)
    .addOption(secretFileOption())
    .addOption(schemeOption())
    .action(act(session, run))

async function run(session: Session, options: McpOptions) {
  if (options.secretFile === '-') {
    throw new CliError('USAGE', 'stdin carries the protocol: pass --secret-file <file>')
  }
  const { serve } = await import('../mcp/serve.ts')
  if (session.stdin.isTTY) session.out.say('an MCP client must start this command; Ctrl-D ends it')
  await serve(session, options)
  return exitCodes.ok
}
