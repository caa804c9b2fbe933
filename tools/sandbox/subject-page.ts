// The page behind an invitation's link (section 4.1): the subject fills in one step after the other,
// or completes steps by a click. The console renders the page.
import { messageResponse, subjectResponse } from '../console/subject/page.ts'
import { faultsIn, type Given, givenIn } from '../console/subject/steps.ts'
import { formBody } from './exchange.ts'
import { HttpError } from './http-error.ts'
import type { VerificationRow } from './schemas/snapshot.ts'
import type { State } from './state.ts'
import { isOpen } from './transitions.ts'
import { act, type Step } from './verifications.ts'

/**
 * Shows the page of a token. POST completes a step, checking its fields when they come with
 * `filled=yes`, or all steps with `step=all` or without a step.
 */
export async function subjectPage(
  state: State,
  token: string,
  request: Request,
): Promise<Response> {
  const row = [...state.verifications.values()].find((one) => one.resource.accessToken === token)
  if (!row) return messageResponse('This link is not valid.', 404)
  const { pathname, search, searchParams } = new URL(request.url)
  const view = viewOf(row, searchParams.get('returnUrl') ?? row.config?.returnUrl)
  if (request.method !== 'POST') return subjectResponse(view)
  const given = await formBody(request, 16_384)
  const step = given.get('step') ?? 'all'
  const filled = given.get('filled') === 'yes'
  const faults = filled ? faultsIn(step, given) : {}
  if (Object.keys(faults).length > 0) return subjectResponse({ ...view, given, faults })
  const refused = complete(state, row, {
    name: step,
    ...(filled && { given: givenIn(step, given) }),
  })
  if (refused) return messageResponse(`This cannot be done: ${refused}.`, 409)
  return new Response(null, { status: 303, headers: { location: pathname + search } })
}

function viewOf(row: VerificationRow, returnUrl: unknown) {
  const { resource, completed } = row
  const { status, requestorCompany, requirements } = resource
  return {
    company: requestorCompany ?? '',
    status,
    steps: requirements.map((name) => ({ name, done: completed[name] !== undefined })),
    open: isOpen(row),
    returnUrl: webAddress(returnUrl),
  }
}

/** The page links to it, never redirects, and to the web alone: anybody may have made the link. */
function webAddress(text: unknown): URL | undefined {
  const url = typeof text === 'string' ? URL.parse(text) : null
  return url && /^https?:$/.test(url.protocol) ? url : undefined
}

interface Completed {
  readonly name: string
  readonly given?: Given
}

/** Completes a step; returns the reason if that is not possible. */
function complete(
  state: State,
  row: VerificationRow,
  { name, given }: Completed,
): string | undefined {
  const first: Step[] = row.resource.status === 'initiated' ? [{ action: 'start' }] : []
  const step = row.resource.requirements.find((one) => one === name)
  try {
    act(state, row, {
      steps: [...first, { action: 'submit', step, ...(step && given && { given }) }],
    })
    return undefined
  } catch (error) {
    if (error instanceof HttpError) return error.message
    throw error
  }
}
