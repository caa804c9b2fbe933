// The sandbox as its user holds it: created from checked options, with its calls and its ports.

import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebhookError } from '../../src/errors.ts'
import { defined } from '../../src/foundation/defined.ts'
import type { AssembledVerification } from '../../src/protocol/api-schemas.ts'
import { encode } from '../../src/signature/encoding.ts'
import { createApp } from './app.ts'
import { called, type SandboxCalls, sandboxCalls } from './calls.ts'
import { readDataFile } from './data-file.ts'
import { checked } from './exchange.ts'
import { HttpError } from './http-error.ts'
import { checkOptions, checkSameStart, type SandboxOptions, startOptions } from './options.ts'
import { apiPath } from './paths.ts'
import { profile } from './profile.ts'
import { actionsBody } from './schemas/control.ts'
import type { SavedState, Snapshot } from './schemas/snapshot.ts'
import { State } from './state.ts'
import type { ActionName } from './transitions.ts'
import { type ApiCredentials, publicKeyOf, vendorOf } from './vendor.ts'
import { act, assemble, type Step } from './verifications.ts'

/** An action by its name, or with its step or reason. */
export type VerificationAction = ActionName | Step

/** The address to listen on; loopback and any free port by default. */
export interface ListenOptions {
  readonly port?: number | undefined
  readonly host?: string | undefined
}

export interface Listening {
  readonly url: string
  readonly host: string
  readonly port: number
  /** Ends open connections, streams among them. */
  close(): Promise<void>
}

/** The service in a box. */
export interface Sandbox extends SandboxCalls {
  /** The whole service without a port; pass it wherever a `fetch` is expected. */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  /** Serves over HTTP, on loopback and any free port by default. */
  listen(options?: ListenOptions): Promise<Listening>
  /** The base URL, without a path; `/v2/api` and `/_sandbox` are below it. */
  readonly url: string
  /** The API's base address: `url` with `/v2/api`. */
  readonly baseUrl: string
  /** A key of the Professional organization. */
  readonly apiKey: string
  /** The secret of subscriptions without their own. */
  readonly secret: string
  /** The name of the vendor that it plays. */
  readonly vendor: string | undefined
  /** The public key of a vendor that signs with a key pair, as PEM; undefined for other senders. */
  readonly publicKey: string | undefined
  /** The API of its vendor, as the option `api` of the vendor's preset takes it. */
  readonly api: ApiCredentials & {
    readonly baseUrl: string
    readonly fetch: typeof fetch
  }
  /**
   * Acts on a verification as its subject, its operator or the clock: all actions, or none.
   *
   * @throws WebhookError `VERIFICATION_UNKNOWN`, `ILLEGAL_TRANSITION`, `OPTION_INVALID`
   */
  act(
    id: string,
    actions: VerificationAction | readonly VerificationAction[],
    options?: { readonly force?: boolean },
  ): Promise<AssembledVerification>
  /** Resolves when no delivery and no mail is due, or when the state is reset or restored. */
  flush(): Promise<void>
  /** The seed of ids, tokens and random choices. */
  readonly seed: string | number
  /** Resets everything to the state right after the start. */
  reset(): void
  /** The whole state as JSON, secrets included. */
  snapshot(): Snapshot
  /** @throws WebhookError `OPTION_INVALID` with every field that is wrong */
  restore(snapshot: Snapshot): void
  close(): Promise<void>
}

/**
 * The whole service in a box: its HTTP API, its signed events, and a control plane to act on both.
 *
 * @throws WebhookError `OPTION_INVALID`, `DATA_FILE_FAILED`
 * @example
 * const sandbox = await createSandbox({ seed: 1, subscriptions: [{ url: 'http://127.0.0.1:3000/' }] })
 * await sandbox.fetch(new Request(`${sandbox.baseUrl}/verifications`, { … }))
 * await sandbox.flush()
 */
export async function createSandbox(given: SandboxOptions = {}): Promise<Sandbox> {
  const options = defined(given)
  checkOptions(options)
  const saved = options.data === undefined ? undefined : await readDataFile(options.data)
  if (saved) checkSameStart(options, saved.start)
  const { sandbox, state } = openSandbox(options, saved)
  try {
    await state.saved()
    return sandbox
  } catch (error) {
    await sandbox.close().catch(() => {})
    throw error
  }
}

/** A new seed each time; it is shown, so that a run can be repeated. */
const randomSeed = () => encode(crypto.getRandomValues(new Uint8Array(8)), 'hex')

function stateOf(options: SandboxOptions, saved: SavedState | undefined, origin: () => string) {
  const { now, data, fetch: send = fetch, deliveryTimeout } = options
  const vendor = vendorOf(options.vendor)
  return new State({
    start: saved?.start ?? startOptions(options, options.seed ?? randomSeed()),
    source: typeof now === 'function' ? now : undefined,
    send,
    timeoutMs: deliveryTimeout ?? vendor?.delivery.timeout ?? profile.delivery.timeoutMs,
    vendor,
    origin,
    data,
    saved,
    expire: (state, row) => act(state, row, { steps: [{ action: 'expire' }] }),
  })
}

/** Opens a sandbox with checked options and the content of its data file. */
export function openSandbox(options: SandboxOptions, saved?: SavedState) {
  const closing = new AbortController()
  const listening: Listening[] = []
  let closed: Promise<void> | undefined
  const url = () => listening.at(-1)?.url ?? 'http://sandbox.localhost'
  const state = stateOf(options, saved, url)
  const app = createApp({
    state,
    rateLimit: options.rateLimit,
    listenHost: () => listening.at(-1)?.host,
    hosts: options.hosts ?? [],
    origin: url,
    closing: closing.signal,
  })
  const serve: Sandbox['fetch'] = async (input, init) => {
    if (closing.signal.aborted) throw new TypeError('the sandbox is closed')
    return app.fetch(input instanceof Request && !init ? input : new Request(input, init))
  }
  const sandbox: Sandbox & { toJSON(): unknown } = {
    fetch: serve,
    apiKey: 'key_acme',
    get url() {
      return url()
    },
    get baseUrl() {
      return `${url()}${apiPath}`
    },
    get seed() {
      return state.random.seed
    },
    get secret() {
      return state.secret
    },
    vendor: state.vendor?.name,
    get publicKey() {
      return publicKeyOf(state.secret, state.scheme)?.pem
    },
    get api() {
      return { ...state.credentials, baseUrl: url(), fetch: serve }
    },
    ...callsOf(state),
    async listen(options) {
      const one = await serveOn(serve, options)
      listening.push(one)
      return one
    },
    close() {
      closing.abort()
      closed ??= Promise.all(listening.map((one) => one.close())).then(() => state.close())
      return closed
    },
    // Without the secret.
    toJSON: () => ({ url: url() }),
  }
  return { sandbox: sandbox as Sandbox, state }
}

function callsOf(
  state: State,
): Pick<Sandbox, keyof SandboxCalls | 'act' | 'flush' | 'reset' | 'snapshot' | 'restore'> {
  return {
    ...sandboxCalls(state),
    async act(id, actions, { force } = {}) {
      const body = { actions: [actions].flat() }
      const read = called('act', () => checked(actionsBody, body, 'request body'))
      const row = state.verifications.get(id)
      if (!row) {
        throw new WebhookError('VERIFICATION_UNKNOWN', `act: verification ${id} does not exist`)
      }
      try {
        act(state, row, { steps: read.actions, force })
      } catch (cause) {
        if (!(cause instanceof HttpError)) throw cause
        throw new WebhookError('ILLEGAL_TRANSITION', `act: ${cause.message}`, { cause })
      }
      await state.saved()
      return assemble(row)
    },
    flush: () => state.flush(),
    reset: () => state.reset(),
    snapshot: () => state.snapshot(),
    restore: (snapshot) => called('restore: the snapshot', () => state.restore(snapshot)),
  }
}

/** Serves over HTTP; rejects with the system's error if the port is taken. */
async function serveOn(
  fetch: (request: Request) => Promise<Response>,
  { port = 0, host = '127.0.0.1' }: ListenOptions = {},
): Promise<Listening> {
  const { createAdaptorServer } = await import('@hono/node-server')
  const server = createAdaptorServer({
    // The library passes a second argument, which a fetch must not get.
    fetch: (request) => fetch(request),
    overrideGlobalObjects: false,
  }) as Server
  server.listen(port, host)
  await once(server, 'listening')
  const bound = (server.address() as AddressInfo).port
  // A wildcard address cannot be called.
  const reached = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = reached.includes(':') ? `[${reached}]` : reached
  return {
    url: `http://${name}:${bound}`,
    host,
    port: bound,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
