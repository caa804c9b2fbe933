// The --json lines of the commands that make, take or send deliveries: sandbox, send, capture, replay.
import type { AnswerOutcome } from '../deliver.ts'

/** `send` and `replay`: one response, one skipped capture, or the end. */
export type SendLine =
  | ({
      readonly type: 'sent'
      readonly index: number
      readonly name: string
      /** 0 without a response. */
      readonly status: number
      /** Why the request failed: ECONNREFUSED, TIMEOUT and the like. */
      readonly error?: string
      readonly milliseconds: number
      /** Only with --show-payload. */
      readonly body?: string
    } & AnswerOutcome)
  /** `replay --resign`: a capture that did not verify when it was recorded. */
  | { readonly type: 'left-out'; readonly file: string; readonly code?: string | undefined }
  | {
      readonly type: 'summary'
      readonly wanted: number
      readonly sent: number
      readonly taken: number
      readonly refused: number
      readonly failed: number
    }

/** `capture`: it listens, wrote a file, or ends. */
export type CaptureLine =
  | {
      readonly type: 'ready'
      readonly url: string
      readonly port: number
      readonly dir: string
      readonly raw: boolean
    }
  | {
      readonly type: 'capture'
      readonly file: string
      readonly method: string
      readonly bytes: number
      /** When it is an event name of the service. */
      readonly event?: string | undefined
      /** When a secret is known. */
      readonly verified?: boolean
      readonly code?: string
      /** When it was forwarded. */
      readonly answer?: { readonly status: number } & AnswerOutcome
    }
  /** `lost` counts deliveries that could not be kept. */
  | { readonly type: 'summary'; readonly captures: number; readonly lost: number }

/** `sandbox`: it listens, something happened, or it ends. */
export type SandboxLine =
  | ({
      readonly type: 'ready'
      readonly url: string
      readonly baseUrl: string
      readonly control: string
      readonly apiKey: string
      readonly seed: string | number
      /** The host that mail is sent by, when IDV_SMTP_URL is set. */
      readonly mailServer?: string
      /** The secret is shown only if the sandbox generated it. */
    } & ({ readonly secret: string } | { readonly secretFrom: string }))
  | { readonly type: 'verification'; readonly id: string; readonly status: string }
  | { readonly type: 'mail'; readonly kind: string; readonly transport: string }
  | {
      readonly type: 'delivery'
      readonly id: string
      readonly event: string
      readonly to: string
      readonly status: string
      /** The status of the response, or why the request failed. */
      readonly answer: number | string
      readonly attempt: number
      /** The code in the response of a receiver. */
      readonly code?: string
    }
  /** A delivery that a fault dropped; with --once, every delivery at the end. */
  | {
      readonly type: 'delivery'
      readonly event: string
      readonly status: string
      readonly attempts: number
    }
  | { readonly type: 'summary'; readonly deliveries: Readonly<Record<string, number>> }
  | { readonly type: 'closed' }
