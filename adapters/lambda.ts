// AWS Lambda behind API Gateway (REST and HTTP APIs), an ALB or a function URL.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Reply, WebhookError } from '../src/index.ts'
import { type HttpEvent, readEvent } from './lambda-event.ts'
import {
  checkMount,
  checkReceiver,
  type HandlesRequests,
  type WorkerMountOptions,
} from './mount.ts'

export type { HttpEvent, WorkerMountOptions }

/** The part of Lambda's context that is used. */
export interface LambdaContext {
  getRemainingTimeInMillis(): number
}

/** The response to Lambda. */
export interface LambdaReply {
  statusCode: number
  headers: Record<string, string>
  /** Set for an ALB that is configured for multi-value headers; the ALB then ignores `headers`. */
  multiValueHeaders?: Record<string, string[]>
  body: string
  isBase64Encoded: false
}

/**
 * A Lambda handler. With a worker it also handles what the inbox kept, before it answers: Lambda
 * freezes the process afterwards.
 *
 * @throws WebhookError `OPTION_INVALID`
 * @example export const handler = toLambda(receiver)
 */
export function toLambda(
  receiver: HandlesRequests,
  options: Pick<WorkerMountOptions, 'worker'> = {},
) {
  checkReceiver({ toLambda }, receiver)
  checkMount({ toLambda }, options, ['worker'])
  // Generic, so that a test's literal event may have all fields of a real one.
  return async <Event extends HttpEvent>(
    event: Event,
    context?: LambdaContext,
  ): Promise<LambdaReply> => {
    const incoming = readEvent(event)
    if (!incoming) throw new WebhookError('OPTION_INVALID', notHttp)
    const reply = await receiver.handle(incoming)
    if (options.worker && reply.status < 300) await runWithin(options.worker, context)
    return toLambdaReply(reply, event)
  }
}

const notHttp =
  'toLambda expects the event of an HTTP request: invoke the function through API Gateway, an ALB or a function URL'

/** API Gateway gives up after 29 seconds. */
const maxRun = 20_000
/** Milliseconds before the end: half of them to release unfinished entries, half to answer. */
const reserve = 1_000

/**
 * Runs the worker until shortly before the function's time is over; the process is frozen after the
 * answer, so its handlers are aborted then. A handler that had half of the time has timed out: else
 * every run would begin a handler that hangs.
 */
async function runWithin(
  worker: NonNullable<WorkerMountOptions['worker']>,
  context: LambdaContext | undefined,
): Promise<void> {
  const timeout = Math.max(0, Math.min(remainingTime(context) - reserve, maxRun))
  // Nothing that fails here may touch the reply: the delivery is kept.
  const run = worker.runOnce({ timeout, grace: 0 }).catch(() => {})
  await Promise.race([run, sleep(timeout + reserve / 2, undefined, { ref: false })])
}

/** Tests and emulators may lack it, or give no number. */
function remainingTime(context: LambdaContext | undefined): number {
  try {
    const remaining = context?.getRemainingTimeInMillis()
    return Number.isFinite(remaining) ? Number(remaining) : maxRun
  } catch {
    return maxRun
  }
}

function toLambdaReply({ status, headers, body }: Reply, event: HttpEvent): LambdaReply {
  const reply = {
    statusCode: status,
    headers: { ...headers },
    body,
    isBase64Encoded: false,
  } as const
  if (!event.requestContext?.elb || !event.multiValueHeaders) return reply
  const entries = Object.entries(headers).map(([name, value]) => [name, [value]])
  return { ...reply, multiValueHeaders: Object.fromEntries(entries) }
}
