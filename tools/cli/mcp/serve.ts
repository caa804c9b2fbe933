// Serves the tools over stdio with the official SDK, which only this file imports: it is large, and
// no other command loads it.
import { once } from 'node:events'
import { type CallToolResult, fromJsonSchema, McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { failureOf } from '../exit-code.ts'
import type { Session } from '../session.ts'
import { type McpOptions, type Tool, type ToolArguments, tools } from './tools.ts'

/** Set by the build. */
declare const __VERSION__: string

const instructions =
  'Reads the webhook inbox of an identity verification receiver and checks signatures and receivers. Nothing is changed, and payloads are masked. To change entries a person runs `idv-webhooks inbox`.'

/** Serves until stdin ends or the run is interrupted. */
export async function serve(session: Session, options: McpOptions): Promise<void> {
  const { stdin, stdout, signal } = session
  const transport = new StdioServerTransport(stdin, stdout)
  const handle = serveStdio(() => createServer(session, options), { transport })
  await once(stdin, 'close', { signal }).catch(() => {})
  await handle.close()
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
        inputSchema: fromJsonSchema<ToolArguments>(schema),
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

/** An error says what to do, as at the terminal. */
async function call(
  tool: Tool,
  given: ToolArguments,
  { session, options }: { readonly session: Session; readonly options: McpOptions },
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
