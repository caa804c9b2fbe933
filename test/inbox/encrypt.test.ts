import { expect, test } from 'vitest'
import { createEncryption } from '../../src/inbox/encryption.ts'

const key = 'a1'.repeat(32)
const text = new TextEncoder().encode('a person')

test('encrypted bytes are decrypted for the same row alone', () => {
  const encryption = createEncryption({ key })
  const encrypted = encryption.encrypt(text, 'one')
  expect(encryption.decrypt(encrypted, 'one')).toEqual(Buffer.from(text))
  expect(encryption.decrypt(encrypted, 'two')).toBeUndefined()
  expect(Buffer.from(encrypted).includes('person')).toBe(false)
  expect(encryption.encrypt(text, 'one')).not.toEqual(encrypted)
})

test('encrypted bytes are refused when any was changed or cut off', () => {
  const encryption = createEncryption({ key })
  const encrypted = encryption.encrypt(text, 'one')
  for (let at = 1; at < encrypted.length; at++) {
    const changed = Uint8Array.from(encrypted)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(encryption.decrypt(changed, 'one'), `byte ${at}`).toBeUndefined()
    expect(encryption.decrypt(encrypted.subarray(0, at), 'one'), `first ${at}`).toBeUndefined()
  }
})

test('a key is taken as bytes, hex or base64, and a previous key still decrypts', () => {
  const bytes = Buffer.from(key, 'hex')
  const encrypted = createEncryption({ key }).encrypt(text, 'one')
  for (const same of [bytes, bytes.toString('base64')]) {
    expect(createEncryption({ key: same }).decrypt(encrypted, 'one')).toEqual(Buffer.from(text))
    expect(createEncryption({ key: same }).isCurrent(encrypted)).toBe(true)
  }
  const rotated = createEncryption({ key: 'b2'.repeat(32), previous: [key] })
  expect(rotated.decrypt(encrypted, 'one')).toEqual(Buffer.from(text))
  expect(rotated.isCurrent(encrypted)).toBe(false)
  expect(createEncryption().decrypt(createEncryption().encrypt(text, 'x'), 'y')).toEqual(text)
  expect(createEncryption().decrypt(encrypted, 'one')).toBeUndefined()
})
