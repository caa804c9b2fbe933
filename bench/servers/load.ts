import { join } from 'node:path'
import type { MakeRoute } from './route.ts'

/** Frameworks whose routes are made inside a process; Next.js is built and started. */
export const frameworks = ['node', 'express', 'fastify', 'fetch'] as const
export type Framework = (typeof frameworks)[number]

export async function loadRoute(framework: Framework): Promise<MakeRoute> {
  const file = join(import.meta.dirname, `${framework}.ts`)
  const { makeRoute }: { makeRoute: MakeRoute } = await import(file)
  return makeRoute
}
