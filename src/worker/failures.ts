// Handlers that did not succeed at an attempt, as the entry keeps them.
import { attemptSteps, type HandlerFailure } from '../dispatch/handler.ts'
import type { EntryFailure } from '../inbox/entry.ts'
import { describeError } from '../observe/observe.ts'

export const isDrained = ({ code }: HandlerFailure): boolean => code === 'DRAINING'

export function toFailure({ handler, code, error }: HandlerFailure): EntryFailure {
  return { handler, code, error: describeError(error) }
}

/** A step of the attempt itself threw. */
export function ofStep(step: keyof typeof attemptSteps, error: unknown): EntryFailure {
  return { handler: attemptSteps[step], code: 'HANDLER_FAILED', error: describeError(error) }
}

export function toCut({ handler }: HandlerFailure): EntryFailure {
  return { handler, code: 'HANDLER_FAILED', error: 'was cut by the end of the run' }
}

export function toInterrupted({ handler }: HandlerFailure): EntryFailure {
  return failedBefore(handler, 'was interrupted by a drain')
}

export function toUnrun(handler: string): EntryFailure {
  return failedBefore(handler, 'was not run by this attempt')
}

export function toMissing(handler: string): EntryFailure {
  return failedBefore(handler, 'this process has no handler of that id')
}

/** It stays known, so that the entry is not done before it has succeeded. */
function failedBefore(handler: string, why: string): EntryFailure {
  return { handler, code: 'HANDLER_FAILED', error: `failed before, and ${why}` }
}
