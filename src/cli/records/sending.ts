// The --json lines of the commands that make, take or send deliveries: sandbox, send, capture, replay.

/** `send` and `replay`: one answer. */
export interface SentRecord {
  readonly type: 'sent'
  readonly index: number
  readonly name: string
  /** 0 when there was no answer. */
  readonly status: number
  /** What the answer says of the outcome, where it is a receiver's. */
  readonly outcome?: string
  readonly code?: string
  /** Why there was no answer: ECONNREFUSED, TIMEOUT and the like. */
  readonly error?: string
  readonly milliseconds: number
  /** With --show-payload alone. */
  readonly body?: string
}

/** `send` and `replay`: the end. */
export interface SentSummary {
  readonly type: 'summary'
  readonly wanted: number
  readonly sent: number
  readonly taken: number
  readonly refused: number
  readonly failed: number
}

/** `capture`: it listens. */
export interface CaptureReady {
  readonly type: 'ready'
  readonly url: string
  readonly port: number
  readonly dir: string
  readonly raw: boolean
}

/** `capture`: one file was written. */
export interface CapturedRecord {
  readonly type: 'capture'
  readonly file: string
  readonly method: string
  readonly bytes: number
  /** Where it is a name of the service. */
  readonly event?: string
  /** Where a secret is known. */
  readonly verified?: boolean
  readonly code?: string
  /** Where it was forwarded. */
  readonly answer?: { readonly status: number; readonly outcome?: string; readonly code?: string }
}

/** `capture`: the end. */
export interface CaptureSummary {
  readonly type: 'summary'
  readonly captures: number
  /** Deliveries that could not be kept. */
  readonly lost: number
}

/** `sandbox`: it listens. The secret itself only where the sandbox made it. */
export type SandboxReady = {
  readonly type: 'ready'
  readonly url: string
  readonly baseUrl: string
  readonly control: string
  readonly apiKey: string
  readonly seed: string | number
} & ({ readonly secret: string } | { readonly secretFrom: string })

/** `sandbox`: what happened. */
export type SandboxRecord =
  | { readonly type: 'verification'; readonly id: string; readonly status: string }
  | { readonly type: 'mail'; readonly kind: string; readonly transport: string }
  | {
      readonly type: 'delivery'
      readonly id: string
      readonly event: string
      readonly to: string
      readonly status: string
      /** The status of the answer, or why there was none. */
      readonly answer: number | string
      readonly attempt: number
    }
  /** With --once: every delivery at the end, and how many ended how. */
  | {
      readonly type: 'delivery'
      readonly event: string
      readonly status: string
      readonly attempts: number
    }
  | { readonly type: 'summary'; readonly deliveries: Readonly<Record<string, number>> }
  | { readonly type: 'closed' }
