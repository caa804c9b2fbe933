// Where an invitation's link leads (section 4.1): the subject fills in one step after the other, as
// a person would, or completes them by a click. The console decides what the page looks like.
import { messageResponse, subjectResponse } from '../console/subject/page.ts'
import { faultsIn } from '../console/subject/steps.ts'
import { formBody } from './exchange.ts'
import { HttpError } from './http-error.ts'
import type { VerificationRow } from './rows.ts'
import type { World } from './state.ts'
import { act, type Step } from './verifications.ts'

/**
 * Shows the page of a token. POST completes a step, checking its fields when they come with
 * `filled=yes`, or all steps with `step=all` or without a step.
 */
export async function subjectPage(
  world: World,
  token: string,
  request: Request,
): Promise<Response> {
  const row = rowOf(world, token)
  if (!row) return messageResponse('This link is not valid.', 404)
  if (request.method !== 'POST') return subjectResponse(viewOf(row))
  const given = await formBody(request, 16_384)
  const step = given.get('step') ?? 'all'
  const faults = given.get('filled') === 'yes' ? faultsIn(step, given) : {}
  if (Object.keys(faults).length > 0) return subjectResponse({ ...viewOf(row), given, faults })
  const refused = complete(world, row, step)
  if (refused) return messageResponse(`This cannot be done: ${refused}.`, 409)
  const { pathname, search } = new URL(request.url)
  return new Response(null, { status: 303, headers: { location: pathname + search } })
}

function viewOf({ resource, completed }: VerificationRow) {
  const { status, requestorCompany, requirements } = resource
  return {
    company: requestorCompany ?? '',
    status,
    steps: requirements.map((name) => ({ name, done: completed[name] !== undefined })),
    open: status === 'initiated' || status === 'in_progress',
  }
}

function rowOf(world: World, token: string): VerificationRow | undefined {
  for (const row of world.verifications.all()) {
    if (row.resource.accessToken === token) return row
  }
  return undefined
}

/** Returns why it cannot be done; undefined when it was. */
function complete(world: World, row: VerificationRow, step: string): string | undefined {
  const first: Step[] = row.resource.status === 'initiated' ? [{ action: 'start' }] : []
  const named = row.resource.requirements.find((one) => one === step)
  const submit: Step = named
    ? { action: 'submit', step: named as Step['step'] }
    : { action: 'submit' }
  try {
    act(world, row, { steps: [...first, submit] })
    return undefined
  } catch (error) {
    if (error instanceof HttpError) return error.message
    throw error
  }
}
