// What stands at the addresses that the sandbox prints: the routes below them, as a page for
// browsers and as JSON for everybody else.
import { endpoints } from '../client/contract.ts'
import { apiPath } from './api.ts'
import { controlPath } from './control.ts'
import { escapeHtml, htmlPage } from './html-page.ts'
import { legacyPaths } from './legacy-paths.ts'
import { type ControlRoute, controlRoutes } from './schemas/control-routes.ts'

interface Landing {
  readonly title: string
  /** Addresses, by what they lead to. */
  readonly links: Readonly<Record<string, string>>
  /** `METHOD path`, each with what it does. */
  readonly routes: Readonly<Record<string, string>>
  /** A command that shows the first step. */
  readonly example: string
}

export function rootIndex(request: Request, origin: string): Response {
  return answer(request, {
    title: 'Identity verification, in a box',
    links: linksOf(origin),
    routes: {},
    example: creation(origin),
  })
}

export function apiIndex(request: Request, origin: string): Response {
  const routes = Object.values(endpoints).flatMap(({ method, path }) => {
    const legacy = legacyPaths[path]
    const canonical = [`${method} ${apiPath}${path}`, 'X-Api-Key: key_acme']
    return legacy ? [canonical, [`${method} ${apiPath}${legacy}`, 'deprecated']] : [canonical]
  })
  return answer(request, {
    title: 'The service’s API',
    links: linksOf(origin),
    routes: Object.fromEntries(routes),
    example: creation(origin),
  })
}

export function controlIndex(request: Request, origin: string): Response {
  const routes = Object.values<ControlRoute>(controlRoutes).map(({ method, path, summary }) => [
    `${method.toUpperCase()} ${controlPath}${path}`,
    summary,
  ])
  return answer(request, {
    title: 'The sandbox’s control plane',
    links: linksOf(origin),
    routes: { ...Object.fromEntries(routes), [`GET ${controlPath}/events`]: watching },
    example: `curl -X POST ${origin}${controlPath}/verifications/<id>/actions -H 'content-type: application/json' -d '{"actions":["start","submit","approve"]}'`,
  })
}

const watching = 'Everything that happens, as server-sent events'

/** A command that creates a verification. */
export function creation(origin: string): string {
  return `curl -X POST ${origin}${apiPath}/verifications -H 'x-api-key: key_acme' -H 'content-type: application/json' -d '{"type":"idv","requirements":["document"],"subjectName":"Auto Approve"}'`
}

function linksOf(origin: string): Landing['links'] {
  return {
    api: `${origin}${apiPath}`,
    apiDocument: `${origin}${apiPath}/openapi.json`,
    control: `${origin}${controlPath}`,
    controlDocument: `${origin}${controlPath}/openapi.json`,
    assumptions: `${origin}${controlPath}/assumptions`,
    outbox: `${origin}${controlPath}/outbox`,
    deliveries: `${origin}${controlPath}/deliveries`,
  }
}

function answer(request: Request, landing: Landing): Response {
  const asksForHtml = request.headers.get('accept')?.includes('text/html')
  return asksForHtml ? toPage(landing) : Response.json(landing)
}

function toPage({ title, links, routes, example }: Landing): Response {
  const link = ([name, url]: readonly [string, string]) =>
    `<li>${escapeHtml(name)}: <a href="${escapeHtml(url)}">${escapeHtml(url)}</a></li>`
  const route = ([call, does]: readonly [string, string]) =>
    `<tr><td><code>${escapeHtml(call)}</code><td>${escapeHtml(does)}</tr>`
  return htmlPage(`<h1>${escapeHtml(title)}</h1>
<p>Try it:</p><pre>${escapeHtml(example)}</pre>
<table>${Object.entries(routes).map(route).join('')}</table>
<ul>${Object.entries(links).map(link).join('')}</ul>`)
}
