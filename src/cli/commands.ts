// The table of commands: the one place that knows them all. Each loads only when it is called.
import type { CommandFactory } from './session.ts'

/** A command: its line in the help, and the file that does it. */
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
    summary: 'record deliveries as files, and hand them on',
    load: async () => (await import('./commands/capture.ts')).capture,
  },
  {
    name: 'replay',
    summary: 'send captures again',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  {
    name: 'verify',
    summary: 'tell whether a capture is signed with your secret, and if not why',
    load: async () => (await import('./commands/verify.ts')).verify,
  },
  {
    name: 'discover',
    summary: 'find the signature scheme of captured deliveries',
    load: async () => (await import('./commands/discover.ts')).discover,
  },
  {
    name: 'doctor',
    summary: 'probe a running receiver and name what is wrong with it',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  {
    name: 'reconcile',
    summary: 'find events that never came, and put them into the inbox',
    load: async () => (await import('./commands/reconcile.ts')).reconcile,
  },
  {
    name: 'inbox',
    summary: 'look entries of an inbox up, run them again, erase what must go',
    load: async () => (await import('./commands/inbox.ts')).inbox,
  },
  {
    name: 'migrate',
    summary: 'move from the legacy event names to the current ones',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  {
    name: 'config',
    summary: 'show the settings in effect, and where each comes from',
    load: async () => (await import('./commands/config.ts')).config,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./commands/completion.ts')).completion,
  },
]
