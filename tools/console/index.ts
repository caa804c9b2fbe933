export { type InboxConsole, type InboxConsoleOptions, inboxConsole } from './inbox-console.ts'
export type { Activity } from './inbox-routes.ts'
export type { MountedListener, MountedRequest } from './node-listener.ts'
