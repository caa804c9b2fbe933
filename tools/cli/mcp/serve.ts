// Serves the tools over stdio with the official SDK, which only this file imports: it is large, and
// no other command loads it.
import { once } from 'node:events'
import { type CallToolResult, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { CliError, exitCodes } from '../exit-code.ts'
import type { Session } from '../session.ts'
import { failureOf } from '../usage-error.ts'
import type { Given, McpOptions, Tool } from './tool.ts'
import { tools } from './tools.ts'

/** Set by the build. */
declare const __VERSION__: string

const instructions =
  'Reads the webhook inbox of an identity verification receiver and checks signatures and receivers. Nothing is changed, and payloads are masked. To change entries a person runs `idv-webhooks inbox`.'

/** The longest message in MiB. */
const longest = 10

/** Tells when it closes: the SDK closes it, and stops reading, when a message is too long. */
class Transport extends StdioServerTransport {
  readonly closed = Promise.withResolvers<'closed'>()

  override async close(): Promise<void> {
    await super.close()
    this.closed.resolve('closed')
  }
}

/**
 * Serves until stdin ends or the run is interrupted.
 *
 * @throws CliError `MESSAGE_TOO_LONG`
 */
export async function serve(session: Session, options: McpOptions): Promise<void> {
  const { stdin, stdout, signal } = session
  const ended = once(stdin, 'close', { signal }).catch(() => {})
  const transport = new Transport(stdin, stdout, { maxBufferSize: longest * 1024 * 1024 })
  const handle = serveStdio(() => createServer(session, options), { transport })
  const why = await Promise.race([ended, transport.closed.promise])
  await handle.close()
  // At its end stdin closes the transport too; a broken stdout ends the process by itself.
  if (why !== 'closed' || stdin.readableEnded || stdin.destroyed) return
  throw new CliError(
    'MESSAGE_TOO_LONG',
    `the client sent a message of more than ${longest} MiB: the server has ended, start it again`,
    exitCodes.failed,
  )
}

function createServer(session: Session, options: McpOptions): McpServer {
  const info = { name: 'idv-webhooks', version: __VERSION__ }
  const server = new McpServer(info, { instructions })
  for (const tool of tools) {
    const { name, title, description, properties, required = [], sends = false } = tool
    const schema = { type: 'object', properties, required, additionalProperties: false } as const
    server.registerTool(
      name,
      {
        title,
        description,
        inputSchema: fromJsonSchema<Given>(schema),
        annotations: sends
          ? { readOnlyHint: false, destructiveHint: false, openWorldHint: true }
          : { readOnlyHint: true, openWorldHint: false },
      },
      async (given, { mcpReq }) => {
        const signal = AbortSignal.any([session.signal, mcpReq.signal])
        return call(tool, given, { session: { ...session, signal }, options })
      },
    )
  }
  return server
}

interface Served {
  readonly session: Session
  readonly options: McpOptions
}

/** An error says what to do, as at the terminal. */
async function call(
  tool: Tool,
  given: Given,
  { session, options }: Served,
): Promise<CallToolResult> {
  try {
    const result = await tool.run(session, options, given)
    // Dates become text, as in --json.
    const text = JSON.stringify(result)
    return { content: [{ type: 'text', text }], structuredContent: JSON.parse(text) }
  } catch (error) {
    const args = Object.values(given).flat().map(String)
    const { code, message } = failureOf(error, { signal: session.signal, args })
    return { isError: true, content: [{ type: 'text', text: `${code}: ${message}` }] }
  }
}
