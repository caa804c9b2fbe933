// A tool of the server: how it is listed, and what it runs.
import type { InboxChoice } from '../inbox/inbox-option.ts'
import type { SchemeChoice } from '../scheme-option.ts'
import type { SecretOptions } from '../secrets.ts'
import type { Session } from '../session.ts'

/** The inbox, address and secret that the tools use: chosen at the start, never by the agent. */
export interface McpOptions extends InboxChoice, SecretOptions, SchemeChoice {
  readonly to?: string
}

/** The arguments of a call, which the server has checked against the properties. */
export type Given = Readonly<Record<string, string | number | boolean | readonly string[]>>

/** A tool as the server lists it. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  /** JSON Schema of the arguments. */
  readonly properties: Readonly<Record<string, object>>
  readonly required?: readonly string[]
  /** It makes requests. */
  readonly sends?: boolean
  run(session: Session, options: McpOptions, given: Given): Promise<object>
}
