// Where an invitation's link leads (section 4.1): the subject's steps on a plain page, each with a
// button. No script; what is shown is escaped.
import type { Verification } from '../protocol/resources.ts'
import { formBody } from './exchange.ts'
import { HttpError } from './http-error.ts'
import type { VerificationRow } from './rows.ts'
import type { World } from './state.ts'
import { act, type Step } from './verifications.ts'

/** Shows the page of a token; POST completes a step, or all with `step=all` or none at all. */
export async function subjectPage(
  world: World,
  token: string,
  request: Request,
): Promise<Response> {
  const row = rowOf(world, token)
  if (!row) return page('This link is not valid.', 404)
  if (request.method === 'POST') {
    const step = (await formBody(request, 4096)).get('step') ?? 'all'
    const refused = complete(world, row, step)
    if (refused) return page(`This cannot be done: ${escaped(refused)}.`, 409)
    return new Response(null, { status: 303, headers: { location: new URL(request.url).pathname } })
  }
  return page(stepsOf(row))
}

function rowOf(world: World, token: string): VerificationRow | undefined {
  for (const row of world.verifications.all()) {
    if (row.resource.accessToken === token) return row
  }
  return undefined
}

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

function stepsOf({ resource, completed }: VerificationRow): string {
  const { status, requestorCompany, requirements } = resource
  const open = status === 'initiated' || status === 'in_progress'
  const items = requirements.map((step) => {
    if (completed[step]) return `<li>${escaped(step)}: completed</li>`
    const button = `<button name="step" value="${escaped(step)}">Complete</button>`
    return `<li>${escaped(step)} ${open ? button : ''}</li>`
  })
  const all = open ? '<p><button name="step" value="all">Complete all</button></p>' : ''
  return `<h1>${escaped(requestorCompany ?? '')} asks you to verify your identity</h1>
<p>Status: <strong>${escaped(statusWords(status))}</strong></p>
<form method="post"><ol>${items.join('')}</ol>${all}</form>`
}

const statusWords = (status: Verification['status']) => status.replaceAll('_', ' ')

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}

function page(content: string, status = 200): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Identity verification (sandbox)</title>
<style>body{font:16px/1.5 system-ui;max-width:36rem;margin:3rem auto;padding:0 1rem}li{margin:.5rem 0}</style>
<main>${content}</main></html>`
  const policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"
  return new Response(html, {
    status,
    headers: { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
  })
}
