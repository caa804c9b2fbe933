// Ids that are replaced by random ones of their shape, whatever a sender states as one.
import { expect, onTestFinished, test, vi } from 'vitest'
import { redactJson } from '../../src/testing/redact.ts'

/** What is left of ids, and how often random values were drawn. */
function redacted(...ids: readonly string[]) {
  const drawn = vi.spyOn(crypto, 'getRandomValues')
  onTestFinished(() => drawn.mockRestore())
  const masked = JSON.parse(redactJson(JSON.stringify(ids.map((id) => ({ id }))))) as {
    readonly id: string
  }[]
  return { ids: masked.map(({ id }) => id), draws: drawn.mock.calls.length }
}

test('an id of marks alone is drawn once: no other one has its shape', () => {
  expect(redacted('-.-.-')).toEqual({ ids: ['-.-.-'], draws: 1 })
})

test('an id of one digit never stays what it was', () => {
  const ids = Array.from({ length: 200 }, (_, at) => `7${'.'.repeat(at)}`)
  const { ids: masked } = redacted(...ids)
  expect(masked.filter((one, at) => one === ids[at])).toEqual([])
})

test('letters keep neither themselves nor their marks', () => {
  const name = 'Đặng Thị Hồng Hạnh Núñez'.normalize('NFD')
  const { ids, draws } = redacted(name, 'a\u0301'.repeat(450))
  expect(draws).toBe(2)
  expect(ids[0]).toMatch(/^x[a-z]{3} [A-Z][a-z]{2} [A-Z][a-z]{3} [A-Z][a-z]{3} [A-Z][a-z]{4}$/)
  expect(ids[0]).not.toContain('Hong')
  expect(ids[1]).toMatch(/^[a-z]{450}$/)
})

test('an id of base64 or hex is replaced, for either can be a text', () => {
  const texts = ['sarah.connor@example.org', 'Müller, Jörg 1990-01-31', '+49 151 234 56 78 90']
  const ids = texts.flatMap((text) =>
    (['base64', 'base64url', 'hex'] as const).flatMap((alphabet) =>
      ['', 'cli_', 'gid-', 'a-b_'].map((word) => word + Buffer.from(text).toString(alphabet)),
    ),
  )
  expect(redacted(...ids).ids.filter((id) => ids.includes(id))).toEqual([])
})

test('what is longer than an id can be is masked as a text is', () => {
  const [inside, beyond] = ['ab12%'.repeat(200), 'ab12%'.repeat(201)]
  const { ids, draws } = redacted(inside, beyond)
  expect(draws).toBe(1)
  expect(ids[0]).toMatch(/^(?:[a-z]{2}\d{2}%){200}$/)
  expect(ids[1]).toBe('xx00%'.repeat(201))
})

test('an id is replaced by the same one again, for the last ten thousand', () => {
  const many = Array.from({ length: 25_000 }, (_, at) => `id ${at}`)
  const first = redacted(...many).ids
  expect(redacted(...many.slice(-10_000)).ids).toEqual(first.slice(-10_000))
  // Its number is drawn anew: it is gone, so that a long recording has a bound.
  expect(redacted(...many.slice(0, 20)).ids).not.toEqual(first.slice(0, 20))
})
