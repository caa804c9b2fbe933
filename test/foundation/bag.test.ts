import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Bag, type Placed } from '../../src/foundation/bag.ts'

type Member = Placed & { readonly id: number }

test('a bag holds what a set would, whatever is added and deleted', () => {
  const step = fc.record({ adds: fc.boolean(), id: fc.nat(7) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const members = Array.from({ length: 8 }, (_, id): Member => ({ place: -1, id }))
      const bag = new Bag<Member>()
      const set = new Set<Member>()
      for (const { adds, id } of steps) {
        const member = members[id] as Member
        if (adds) {
          bag.add(member)
          set.add(member)
        } else {
          expect(bag.delete(member)).toBe(set.delete(member))
        }
        expect(new Set(bag.all())).toEqual(set)
        expect(bag.size).toBe(set.size)
      }
    }),
  )
})

test('members that were cleared can be added again, and those of before are a copy', () => {
  const bag = new Bag<Member>()
  const one = { place: -1, id: 1 }
  bag.add(one)
  const before = bag.all()
  bag.clear()
  expect([before, bag.size, bag.delete(one)]).toEqual([[one], 0, false])
  bag.add(one)
  expect(bag.all()).toEqual([one])
})
