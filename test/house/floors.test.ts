import { describe, expect, test } from 'vitest'
import { importsOf, sources } from './sources.ts'

const imports = sources.flatMap(importsOf)
const isOurs = (to: string) => /^(src|adapters|tools)\//.test(to)
const inside = imports.filter(({ to }) => isOurs(to))
const outside = imports.filter(({ to }) => !isOurs(to))

/**
 * The floors of ARCHITECTURE.md: the first pattern that fits a file gives its floor. Inside floor 4,
 * where one delivery is taken all the way, the digits after the point are the order of its files.
 */
const floors: readonly (readonly [pattern: RegExp, floor: number])[] = [
  [/^src\/delivery\.ts$/, 1],
  [/^src\/errors\.ts$/, 0],
  [/^src\/(foundation|host)\//, 0],
  [/^src\/(signature|protocol)\//, 1],
  [/^src\/dispatch\/fetch-resource\.ts$/, 4.1],
  [/^src\/observe\/opentelemetry\//, 5],
  [/^src\/(dispatch\/.*|intake\/.*|observe\/.*|outcome\/.*|parse|verify)\.ts$/, 2],
  [/^src\/inbox\/(?!stores\/|index)/, 3],
  [/^src\/(arrival|options)\.ts$/, 4],
  [/^src\/steps\.ts$/, 4.15],
  [/^src\/walk\.ts$/, 4.17],
  [/^src\/pipeline\.ts$/, 4.2],
  [/^src\/receiver\.ts$/, 4.3],
  [/^src\/worker\/(options|poll|retention|signals)\.ts$/, 4.4],
  [/^src\/worker\/attempt\.ts$/, 4.5],
  [/^src\/worker\/run\.ts$/, 4.6],
  [/^src\/worker\/run-once\.ts$/, 4.65],
  [/^src\/worker\/worker\.ts$/, 4.7],
  [/^src\/index\.ts$/, 4.9],
  [/^src\/inbox\/(index\.ts$|stores\/)/, 5],
  [/^src\/vendors\//, 5],
  [/^src\/client\//, 5],
  [/^adapters\//, 5],
  [/^src\/redaction\//, 2],
  [/^src\/testing\//, 6],
  [/^tools\/conformance\//, 6],
  [/^tools\/console\/pages\//, 8],
  [/^tools\/console\//, 6],
  [/^tools\/sandbox\//, 7],
  [/^tools\/cli\//, 8],
]

function floorOf(file: string): number {
  const found = floors.find(([pattern]) => pattern.test(file))
  if (!found) throw new Error(`${file} stands on no floor: give it one here and in ARCHITECTURE.md`)
  return found[1]
}

describe('imports', () => {
  test('the import check finds the imports', () => {
    expect(inside.length).toBeGreaterThan(80)
    expect(inside.every(({ to }) => sources.includes(to))).toBe(true)
  })

  test('imports never go up the floors, types included', () => {
    const up = inside.filter(({ from, to }) => floorOf(to) > floorOf(from))
    expect(up).toEqual([])
  })

  test('imports inside floor 4 go strictly down', () => {
    const inFloor4 = (file: string) => Math.floor(floorOf(file)) === 4
    const walk = inside.filter(({ from, to }) => inFloor4(from) && inFloor4(to))
    expect(walk.length).toBeGreaterThan(5)
    expect(walk.filter(({ from, to }) => floorOf(to) >= floorOf(from))).toEqual([])
  })

  test('imports make no cycle, types included', () => {
    const next = new Map(
      sources.map((file) => [file, inside.filter((one) => one.from === file).map((one) => one.to)]),
    )
    const done = new Set<string>()
    const walk = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) throw new Error(`cycle: ${[...path, file].join(' → ')}`)
      if (done.has(file)) return
      for (const to of next.get(file) ?? []) walk(to, [...path, file])
      done.add(file)
    }
    for (const file of sources) walk(file, [])
    expect(done.size).toBe(sources.length)
  })

  test('no file imports a door, except the command line', () => {
    const doors = inside.filter(
      ({ from, to }) => to.endsWith('/index.ts') && !from.startsWith('adapters/'),
    )
    expect(doors.filter(({ from }) => !from.startsWith('tools/cli/'))).toEqual([])
  })

  test('adapters import only the front door, the chunks of a body, host/ and their shared modules', () => {
    const shared = 'address answer express fastify fetch lambda-event mount node unread'.split(' ')
    const allowed = [
      'src/index.ts',
      'src/foundation/bytes.ts',
      'src/host/brands.ts',
      'src/host/promises.ts',
      'src/host/runtime.ts',
      ...shared.map((name) => `adapters/${name}.ts`),
    ]
    const others = inside.filter(
      ({ from, to }) => from.startsWith('adapters/') && !allowed.includes(to),
    )
    expect(others).toEqual([])
  })

  test('the command line imports other rooms through their doors', () => {
    const through = inside.filter(
      ({ from, to }) => from.startsWith('tools/cli/') && !to.startsWith('tools/cli/'),
    )
    expect(through.length).toBeGreaterThan(10)
    expect(
      through.filter(
        ({ to }) =>
          !/\/index\.ts$|^src\/inbox\/stores\/(sqlite\/sqlite|postgres\/postgres)\.ts$|^src\/vendors\/dialect\.ts$|^src\/signature\/keys\.ts$|^src\/errors\.ts$|^src\/foundation\/(check|defined|abortable|bytes|chunks|json)\.ts$/.test(
            to,
          ),
      ),
    ).toEqual([])
  })

  test('floors up to 4 import only types of the inbox: it is handed in', () => {
    const fromInbox = inside.filter(
      ({ from, to }) =>
        floorOf(from) < 5 && !from.startsWith('src/inbox/') && to.startsWith('src/inbox/'),
    )
    expect(fromInbox.length).toBeGreaterThan(3)
    expect(fromInbox.filter(({ typeOnly }) => !typeOnly)).toEqual([])
  })
})

describe('one dependency, one door', () => {
  test.each([
    ['zod', /^(src\/protocol|tools\/sandbox\/schemas)\/|^src\/client\/contract\.ts/],
    ['ipaddr.js', /^src\/signature\/addresses\.ts$/],
    ['jose', /^src\/signature\/(keys|public-keys)\.ts$/],
    ['fastify-plugin', /^adapters\/fastify\.ts$/],
    ['fastify', /^adapters\/fastify\.ts$/],
    ['leven', /^src\/foundation\/check\.ts$/],
    ['@opentelemetry/api', /^src\/observe\/opentelemetry\//],
    ['@nestjs', /^adapters\/nest\.ts$/],
    ['@modelcontextprotocol', /^tools\/cli\/commands\/mcp\.ts$/],
    ['commander', /^tools\/cli\/(?!migrate|discover|doctor)/],
    ['@babel/parser', /^tools\/cli\/migrate\/rewrite\.ts$/],
    ['magic-string', /^tools\/cli\/migrate\/rewrite\.ts$/],
  ])('%s is imported only where it belongs', (name, allowed) => {
    const users = outside.filter(({ to }) => to === name || to.startsWith(`${name}/`))
    expect(users.filter(({ from }) => !allowed.test(from))).toEqual([])
  })

  test('no node: import reaches the core or the fetch adapter', () => {
    const allowed =
      /^(src\/signature\/hmac\/(node|one-shot)\.ts|tools\/|src\/(inbox|testing)|adapters\/(?!fetch))/
    const users = outside.filter(({ to }) => to.startsWith('node:'))
    expect(users.filter(({ from }) => !allowed.test(from))).toEqual([])
  })
})
