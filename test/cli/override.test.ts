import { expect, test } from 'vitest'
import { override } from '../../tools/cli/override.ts'

const event = { data: { status: 'created', requirements: ['document', 'face', 'consent'] } }
const listOf = (sets: readonly string[], remove: readonly string[]) =>
  (override(event, { sets, remove }) as typeof event).data.requirements

test('changes, appends and removes elements of a list by their numbers', () => {
  expect(listOf(['data.requirements.1=x'], [])).toEqual(['document', 'x', 'consent'])
  expect(listOf(['data.requirements.3=x'], [])).toEqual([...event.data.requirements, 'x'])
  expect(listOf(['data.requirements.3.a=1'], [])).toEqual([...event.data.requirements, { a: 1 }])
  expect(listOf([], ['data.requirements.2'])).toEqual(['document', 'face'])
})

test.each(['foo', '-1', '1.5', '01', '1e0', 'length', '4', '999999999', 'foo.bar'])(
  'refuses the element %s of a list of three',
  (key) => {
    const path = `data.requirements.${key}`
    const refused = expect.objectContaining({ code: 'USAGE' })
    expect(() => override(event, { sets: [`${path}=1`], remove: [] })).toThrow(refused)
    expect(() => override(event, { sets: [], remove: [path] })).toThrow(refused)
  },
)

test('refuses to remove an element after the last', () => {
  expect(() => override(event, { sets: [], remove: ['data.requirements.3'] })).toThrow(
    "'data.requirements.3': '3' is not an element of a list of 3",
  )
})

test('passes over a field to remove that is not there', () => {
  expect(override(event, { sets: [], remove: ['data.phone', 'data.a.b'] })).toEqual(event)
})
