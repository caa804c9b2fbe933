// The recorder's answers to bodies that are too large.
import { expect, onTestFinished, test } from 'vitest'
import { startRecorder } from '../../tools/cli/recorder.ts'

test('a body above the limit is answered 413 and reported, and one after it is recorded', async () => {
  const errors: string[] = []
  const sizes: number[] = []
  const recorder = await startRecorder({
    port: 0,
    host: '127.0.0.1',
    status: 200,
    maxBytes: 100,
    timeout: 1,
    signal: new AbortController().signal,
    onRequest: async ({ body }) => Boolean(sizes.push(body.length)),
    onError: (error) => errors.push((error as Error).message),
    onRefused: () => {},
  })
  onTestFinished(() => recorder.close())
  const post = async (bytes: number) =>
    (await fetch(recorder.url, { method: 'POST', body: new Uint8Array(bytes) })).status
  expect(await post(101)).toBe(413)
  expect(errors).toEqual(['its body is larger than --max-bytes 100'])
  expect(await post(100)).toBe(200)
  expect(sizes).toEqual([100])
})
