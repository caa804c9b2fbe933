// Which file systems an SQLite inbox rejects because other machines may mount them too.
import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { isNetworkDisk } from '../../src/inbox/stores/sqlite/file-checks.ts'

test.each([
  ['NFS', 0x6969],
  ['Lustre', 0x0bd00bd0],
  // Some systems give the number with a sign.
  ['SMB', 0xff534d42 | 0],
])('%s is no disk of one machine', (_, type) => {
  expect(isNetworkDisk({ type })).toBe(true)
})

test('ext4 and the disk of temporary files are', () => {
  expect(isNetworkDisk({ type: 0xef53 })).toBe(false)
  expect(isNetworkDisk(statfsSync(tmpdir()))).toBe(false)
})
