// Which disks an SQLite inbox takes for those of one machine.
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { diskOf, isNetworkDisk } from '../../src/inbox/stores/sqlite/file-system.ts'

const fuse = 0x65735546
const mounts = `22 27 0:21 / /proc rw,relatime - proc proc rw
36 27 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
41 27 0:300 / /bucket rw,nosuid shared:7 master:2 - fuse.gcsfuse bucket rw
42 27 0:45 / /work rw - virtiofs work rw
43 27 0:46 / /plain rw - fuse /dev/fuse rw
`

test.each([
  ['NFS', { type: 0x6969, device: 44 }],
  ['Lustre', { type: 0x0bd00bd0, device: 44 }],
  // Minor numbers above 255 have their higher bits above the major one's.
  ['a bucket by FUSE', { type: fuse, device: 0x10002c }],
  ['FUSE of no name', { type: fuse, device: 46 }],
  ['FUSE that is mounted nowhere', { type: fuse, device: 99 }],
])('%s is no disk of one machine', (_, disk) => {
  expect(isNetworkDisk({ ...disk, mounts })).toBe(true)
})

test.each([
  ['ext4', { type: 0xef53, device: 0xfe01 }],
  ['the folder of a virtual machine’s host', { type: fuse, device: 45 }],
])('%s is one', (_, disk) => {
  expect(isNetworkDisk({ ...disk, mounts })).toBe(false)
})

test('so is that of temporary files', () => {
  expect(isNetworkDisk(diskOf(tmpdir()))).toBe(false)
})
