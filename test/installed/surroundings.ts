// The globals that snippets of the documents leave out: names of the package, and of the
// application around them. Written beside each snippet.
export const surroundings = `import type { Express } from 'express'
import type { FastifyInstance } from 'fastify'
import type * as core from 'idv-webhooks'
import type * as api from 'idv-webhooks/client'
import { createReceiver as create } from 'idv-webhooks'
import { createInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const ownInbox = createInbox({ store: sqliteStore('inbox.db') })
const ownReceiver = create({ secret: 's', inbox: ownInbox })

declare global {
  const createReceiver: typeof core.createReceiver
  const createWorker: typeof core.createWorker
  const schemes: typeof core.schemes
  const vendors: typeof import('idv-webhooks/vendors').vendors
  const plaidKeys: import('idv-webhooks/keys').KeySource
  const createClient: typeof api.createClient
  const createReconciler: typeof api.createReconciler
  const reconcile: typeof api.reconcile
  const OutcomeUnknownError: typeof api.OutcomeUnknownError
  type OutcomeUnknownError = api.OutcomeUnknownError
  const watermark: api.WatermarkStore
  const toExpress: typeof import('idv-webhooks/express').toExpress
  const toFastify: typeof import('idv-webhooks/fastify').toFastify
  const toFetch: typeof import('idv-webhooks/fetch').toFetch
  const toNext: typeof import('idv-webhooks/next').toNext
  const toNextPages: typeof import('idv-webhooks/next').toNextPages
  const toNode: typeof import('idv-webhooks/node').toNode
  const http: typeof import('node:http')
  const app: Express & FastifyInstance
  const inbox: typeof ownInbox
  const receiver: typeof ownReceiver
  const worker: core.Worker
  const client: api.ApiClient
  const secret: string
  const oldSecret: string
  const newSecret: string
  const secretOfTenant: (url: string | undefined) => Promise<string>
  const fetchReport: (id: string, how: { signal: AbortSignal }) => Promise<{ score: number }>
  const updateCard: () => void
  const inboxConsole: typeof import('idv-webhooks/console').inboxConsole
  const operatorOf: (cookie: string | null) => Promise<{ email: string } | undefined>
  const since: Date
  const stdout: string
  const after: (work: Promise<unknown>) => void
  const waitUntil: (work: Promise<unknown>) => void
}
`
