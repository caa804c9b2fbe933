// Starts the servers once for all tests against Postgres, and says which are missing. In CI a
// missing one is a failure.
import { pgbouncer, postgres15, postgres18 } from './engines.ts'
import { type Server, startBouncer, startServer } from './server.ts'
import type { Servers } from './servers.ts'

export async function setup(): Promise<() => Promise<void>> {
  const started: Server[] = []
  const add = async (starting: Promise<Server>) => {
    const server = await starting
    started.push(server)
    return server
  }
  const bin15 = postgres15()
  const [pg18, pg15] = await Promise.all([
    add(startServer(postgres18(), { max_prepared_transactions: '4' })),
    bin15 === undefined ? missing('PostgreSQL 15', 'postgresql-15') : add(startServer(bin15)),
  ])
  const bouncer =
    pgbouncer() === undefined ? missing('PgBouncer', 'pgbouncer') : await add(startBouncer(pg18))
  const servers: Servers = {
    pg18: pg18.url,
    ...(pg15 && { pg15: pg15.url }),
    ...(bouncer && { bouncer: bouncer.url }),
  }
  process.env.POSTGRES_SERVERS_OF_TESTS = JSON.stringify(servers)
  return async () => {
    // The bouncer first: it holds connections of the server.
    for (const server of started.reverse()) await server.end()
  }
}

function missing(name: string, debian: string): undefined {
  const message = `${name} is not installed (Debian: apt-get install ${debian})`
  if (process.env.CI) throw new Error(`${message}; in CI its tests must run`)
  console.warn(`${message}: the tests against it are skipped`)
  return undefined
}
