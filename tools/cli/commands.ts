// The table of all commands. Each loads only when it is called.
import type { CommandFactory } from './session.ts'

/** A command: its line in the help, and how to load it. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  readonly load: () => Promise<CommandFactory>
}

export const commands: readonly CommandEntry[] = [
  {
    name: 'sandbox',
    summary: 'run the whole service on this machine',
    load: async () => (await import('./commands/sandbox.ts')).sandbox,
  },
  {
    name: 'send',
    summary: 'send a signed event to an address',
    load: async () => (await import('./commands/send.ts')).send,
  },
  {
    name: 'capture',
    summary: 'record deliveries as files and forward them',
    load: async () => (await import('./commands/capture.ts')).capture,
  },
  {
    name: 'replay',
    summary: 'send captured deliveries again',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  {
    name: 'verify',
    summary: 'check whether a capture is signed with your secret',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  {
    name: 'discover',
    summary: 'find the signature scheme of captured deliveries',
    load: async () => (await import('./commands/discover.ts')).discover,
  },
  {
    name: 'doctor',
    summary: 'test a running receiver and explain what is wrong',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'reconcile',
    summary: 'find missed events and put them into the inbox',
    load: async () => (await import('./commands/reconcile.ts')).reconcile,
  },
  {
    name: 'inbox',
    summary: 'list, retry and erase the entries of an inbox',
    load: async () => (await import('./commands/inbox.ts')).inbox,
  },
  {
    name: 'migrate',
    summary: 'migrate from the legacy event names to the current ones',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  {
    name: 'mcp',
    summary: 'serve an inbox to coding agents (MCP), read only',
    load: async () => (await import('./commands/mcp.ts')).mcp,
  },
  {
    name: 'config',
    summary: 'show the settings in effect and their sources',
    load: async () => (await import('./commands/config.ts')).config,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
]
