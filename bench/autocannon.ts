// The load generator, which brings no types: the part of it that is used.

export interface Load {
  readonly url: string
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly connections: number
  readonly amount: number
}

export interface LoadResult {
  readonly '2xx': number
  readonly latency: { readonly p99: number }
}

const module: { default: (load: Load) => Promise<LoadResult> } = await import(
  'autocannon' as string
)

export const autocannon = module.default
