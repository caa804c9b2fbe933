// The answers at the addresses that the sandbox prints: the routes below them, as JSON. A browser
// that asks for HTML gets the console instead.
import { endpoints } from '../../src/client/contract.ts'
import { apiPath } from './api.ts'
import { controlPath } from './control.ts'
import { legacyPaths } from './legacy-paths.ts'
import { type ControlRoute, controlRoutes } from './schemas/control-routes.ts'

type Landing = Readonly<Record<string, unknown>>

export function rootIndex(origin: string): Landing {
  return {
    title: 'Identity verification, in a box',
    ...linksOf(origin),
    example: creation(origin),
  }
}

export function apiIndex(origin: string): Landing {
  const routes = Object.values(endpoints).flatMap(({ method, path }) => {
    const legacy = legacyPaths[path]
    const canonical = [`${method} ${apiPath}${path}`, 'X-Api-Key: key_acme']
    return legacy ? [canonical, [`${method} ${apiPath}${legacy}`, 'deprecated']] : [canonical]
  })
  return {
    title: 'The service’s API',
    ...linksOf(origin),
    routes: Object.fromEntries(routes),
    example: creation(origin),
  }
}

export function controlIndex(origin: string, mailServer: string | undefined): Landing {
  const routes = Object.values<ControlRoute>(controlRoutes).map(({ method, path, summary }) => [
    `${method.toUpperCase()} ${controlPath}${path}`,
    summary,
  ])
  return {
    title: 'The sandbox’s control plane',
    mail: mailServer ? `is sent by ${mailServer}` : 'is kept in the outbox, and not sent',
    ...linksOf(origin),
    routes: { ...Object.fromEntries(routes), [`GET ${controlPath}/events`]: watching },
    example: `curl -X POST ${origin}${controlPath}/verifications/<id>/actions -H 'content-type: application/json' -d '{"actions":["start","submit","approve"]}'`,
  }
}

const watching = 'Everything that happens, as server-sent events'

/** A command that creates a verification. */
function creation(origin: string): string {
  return `curl -X POST ${origin}${apiPath}/verifications -H 'x-api-key: key_acme' -H 'content-type: application/json' -d '{"type":"idv","requirements":["document"],"subjectName":"Auto Approve"}'`
}

function linksOf(origin: string): Landing {
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
