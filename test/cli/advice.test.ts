// Messages of doctor and hints are read at a terminal: each is short enough to be read.
import { expect, test } from 'vitest'
import { advice, adviceFor, type Cause } from '../../tools/cli/doctor/advice.ts'

const causes = Object.keys(advice) as Cause[]
const frameworks = ['express', 'fastify', 'next', 'nest', 'koa', 'hono', 'unknown'] as const

test.each(causes)('the meaning and every fix of %s have at most 200 characters', (cause) => {
  for (const framework of frameworks) {
    const { message, fix } = adviceFor(cause, framework)
    expect([message, fix].filter((text) => text.length > 200)).toEqual([])
  }
})
