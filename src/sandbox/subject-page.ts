// Where an invitation's link leads (section 4.1): the subject's steps on a plain page, each with a
// button, and a way back to the application. No script; what is shown is escaped.
import { formBody } from './exchange.ts'
import { escapeHtml, htmlPage } from './html-page.ts'
import { HttpError } from './http-error.ts'
import type { VerificationRow } from './schemas/snapshot.ts'
import type { State } from './state.ts'
import { act, type Step } from './verifications.ts'

/** Shows the page of a token; POST completes a step, or all with `step=all` or without a step. */
export async function subjectPage(
  state: State,
  token: string,
  request: Request,
): Promise<Response> {
  const row = rowOf(state, token)
  if (!row) return htmlPage('This link is not valid.', 404)
  const { pathname, search, searchParams } = new URL(request.url)
  if (request.method === 'POST') {
    const step = (await formBody(request, 4096)).get('step') ?? 'all'
    const refused = complete(state, row, step)
    if (refused) return htmlPage(`This cannot be done: ${escapeHtml(refused)}.`, 409)
    return new Response(null, { status: 303, headers: { location: pathname + search } })
  }
  return htmlPage(steps(row) + wayBack(searchParams.get('returnUrl') ?? row.config?.returnUrl))
}

function rowOf(state: State, token: string): VerificationRow | undefined {
  for (const row of state.verifications.all()) {
    if (row.resource.accessToken === token) return row
  }
  return undefined
}

/** Returns why it cannot be done; undefined when it was. */
function complete(state: State, row: VerificationRow, name: string): string | undefined {
  const first: Step[] = row.resource.status === 'initiated' ? [{ action: 'start' }] : []
  const step = row.resource.requirements.find((one) => one === name)
  try {
    act(state, row, { steps: [...first, { action: 'submit', step }] })
    return undefined
  } catch (error) {
    if (error instanceof HttpError) return error.message
    throw error
  }
}

function steps({ resource, completed }: VerificationRow): string {
  const { status, requestorCompany, requirements } = resource
  const open = status === 'initiated' || status === 'in_progress'
  const items = requirements.map((step) => {
    if (completed[step]) return `<li>${escapeHtml(step)}: completed</li>`
    const button = `<button name="step" value="${escapeHtml(step)}">Complete</button>`
    return `<li>${escapeHtml(step)} ${open ? button : ''}</li>`
  })
  const all = open ? '<p><button name="step" value="all">Complete all</button></p>' : ''
  return `<h1>${escapeHtml(requestorCompany ?? '')} asks you to verify your identity</h1>
<p>Status: <strong>${escapeHtml(status.replaceAll('_', ' '))}</strong></p>
<form method="post"><ol>${items.join('')}</ol>${all}</form>`
}

/** A link, never a redirect, and to the web alone: the address comes from whoever made the link. */
function wayBack(returnUrl: unknown): string {
  const url = typeof returnUrl === 'string' ? URL.parse(returnUrl) : null
  if (!url || !/^https?:$/.test(url.protocol)) return ''
  return `<p><a href="${escapeHtml(url.href)}">Return to ${escapeHtml(url.host)}</a></p>`
}
