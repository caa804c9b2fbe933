// Whether SQLite can trust the locks and syncs of a file system: not where another host has it too.
import { readFileSync, statfsSync, statSync } from 'node:fs'

/** Linux's numbers of NFS, SMB (three), Ceph, Lustre, GPFS and AFS (two). */
const network: readonly number[] = [
  ...[0x6969, 0x517b, 0xff534d42, 0xfe534d42],
  ...[0x00c36400, 0x0bd00bd0, 0x47504653, 0x5346414f, 0x6b414653],
]
const fuse = 0x65735546

/** FUSE over the disk of one machine; behind any other may be a bucket, which several mount. */
const local: readonly string[] = [
  ...['fuseblk', 'virtiofs', 'fakeowner', 'fuse.grpcfuse', 'fuse.osxfs', 'fuse.vmhgfs-fuse'],
  ...['fuse.fuse-overlayfs', 'fuse.bindfs', 'fuse.mergerfs', 'fuse.gocryptfs', 'fuse.encfs'],
]

/** The disk that a folder lies on. */
export interface Disk {
  readonly type: number
  readonly device: number
  /** `/proc/self/mountinfo`. */
  readonly mounts: string
}

/** An error is that of the folder. */
export function diskOf(folder: string): Disk {
  const type = statfsSync(folder).type >>> 0
  return { type, device: statSync(folder).dev, mounts: type === fuse ? mountsOfProcess() : '' }
}

/** Empty where that is hidden: then nothing says that the disk is local. */
function mountsOfProcess(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8')
  } catch {
    return ''
  }
}

export function isNetworkDisk({ type, device, mounts }: Disk): boolean {
  if (type !== fuse) return network.includes(type)
  const major = (device >>> 8) & 0xfff
  const minor = (device & 0xff) | ((device >>> 12) & 0xfff00)
  const lines = mounts.split('\n').map((line) => line.split(' '))
  const fields = lines.find(([, , numbers]) => numbers === `${major}:${minor}`) ?? []
  // The name of its type comes behind a dash, after a number of fields that varies.
  return !local.includes(fields[fields.indexOf('-', 6) + 1] ?? '')
}
