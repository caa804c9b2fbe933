export type { Activity } from './activity.ts'
export { type InboxConsole, type InboxConsoleOptions, inboxConsole } from './inbox-console.ts'
export type { MountedListener, MountedRequest } from './node-listener.ts'
