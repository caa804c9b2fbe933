import { expect, test } from 'vitest'
import { override } from '../../tools/cli/override.ts'

const event = { data: { status: 'created', requirements: ['document', 'face'] } }
const changed = (...sets: string[]) => override(event, { sets, remove: [] })

test('sets values as JSON or text, and creates the objects on the way', () => {
  expect(changed('data.requirements=["x"]', 'data.a.b=1', 'id=evt_1')).toEqual({
    id: 'evt_1',
    data: { status: 'created', requirements: ['x'], a: { b: 1 } },
  })
})

test.each(['data.requirements.1', 'data.status.x', 'data..x', '__proto__.x', ''])(
  'refuses the path %s',
  (path) => {
    const refused = expect.objectContaining({ code: 'USAGE' })
    expect(() => changed(`${path}=1`)).toThrow(refused)
  },
)

test('passes over a field to remove that is not there', () => {
  expect(override(event, { sets: [], remove: ['data.phone', 'data.a.b'] })).toEqual(event)
})
