// Chunks of a body: every byte in its order, in little more memory than the bytes.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Chunks, readStream } from '../../src/foundation/bytes.ts'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

test('are joined in their order, however they are cut', () => {
  const chunk = fc.oneof(
    fc.uint8Array({ maxLength: 5 }),
    fc.uint8Array({ minLength: 100, maxLength: 40_000, size: 'max' }),
  )
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 60 }), (parts) => {
      const chunks = new Chunks()
      for (const part of parts) chunks.add(part)
      expect(Buffer.compare(chunks.joined(), Buffer.concat(parts))).toBe(0)
    }),
  )
})

test('keep no bytes that other code may change', async () => {
  const chunk = Uint8Array.of(1, 2, 3)
  const chunks = new Chunks()
  chunks.add(chunk)
  chunk.fill(0)
  expect([...chunks.joined()]).toEqual([1, 2, 3])
})

test('of one byte each hold no buffer that they were cut from', async () => {
  const buffers: WeakRef<ArrayBufferLike>[] = []
  const most = 2_000
  const chunks = new Chunks()
  for (let at = 0; at < most; at++) {
    const cut = new Uint8Array(65_536).subarray(0, 1)
    buffers.push(new WeakRef(cut.buffer))
    chunks.add(cut)
    // The target of a WeakRef lives until the end of its task.
    if (at % 100 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await new Promise((resolve) => setImmediate(resolve))
  collectGarbage()
  expect(buffers.filter((one) => one.deref()).length).toBeLessThan(200)
  expect(chunks.joined()).toHaveLength(most)
})

test('of a stream are read whole', async () => {
  const text = 'é'.repeat(20_000)
  const bytes = new TextEncoder().encode(text)
  let at = 0
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at === bytes.length) return controller.close()
      controller.enqueue(bytes.subarray(at, ++at))
    },
  })
  const read = await readStream(stream, { most: bytes.length })
  expect(new TextDecoder().decode(read)).toBe(text)
})
