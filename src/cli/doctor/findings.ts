// What an app that verifies soundly gets wrong with single probes: it takes what it must refuse, or
// fails on what it cannot read. Each follows from one answer, so it needs no proof of its own.

import type { Examined } from './examine.ts'
import type { Cause } from './known-causes.ts'

interface Lapse {
  readonly cause: Cause
  readonly probes: readonly string[]
  readonly shows: (status: number) => boolean
}

const isTaken = (status: number) => status >= 200 && status < 300
const isCrash = (status: number) => status >= 500

const lapses: readonly Lapse[] = [
  {
    cause: 'signature-not-compared',
    probes: ['a malformed signature'],
    shows: isTaken,
  },
  { cause: 'headers-joined', probes: ['two signature headers'], shows: isTaken },
  { cause: 'time-not-checked', probes: ['a signature of an hour ago'], shows: isTaken },
  {
    cause: 'unreadable-fails',
    probes: ['a body that is no JSON', 'a body that is no UTF-8'],
    shows: isCrash,
  },
  {
    cause: 'mark-not-read',
    probes: ['a byte order mark'],
    shows: (status) => isCrash(status) || status === 400,
  },
  {
    cause: 'unreadable-taken',
    probes: ['a body that is no UTF-8', 'a body that is no JSON'],
    shows: isTaken,
  },
  {
    cause: 'compressed-read',
    probes: ['a compressed body'],
    shows: (status) => !isRefused(status),
  },
  { cause: 'any-method', probes: ['another method (GET)'], shows: (status) => !isRefused(status) },
  { cause: 'parser-limit', probes: ['a body of 256 KiB'], shows: (status) => status === 413 },
  {
    cause: 'parser-content-type',
    probes: ['a charset in the content type'],
    shows: (status) => status === 415,
  },
  { cause: 'unbounded', probes: ['a body of 12 MiB'], shows: isTaken },
]

function isRefused(status: number): boolean {
  return status >= 400 && status < 500
}

/** The lapses that answers show, and the probes that they leave without a cause. */
export function findLapses(examined: readonly Examined[]): {
  readonly causes: readonly Cause[]
  readonly unexplained: readonly Examined[]
} {
  const failed = examined.filter(({ holds }) => !holds)
  const shown = (one: Examined) =>
    lapses.filter(
      ({ probes, shows }) => probes.includes(one.probe.name) && shows(one.answer.status),
    )
  const found = new Set(failed.flatMap(shown).map(({ cause }) => cause))
  return {
    causes: lapses.flatMap(({ cause }) => (found.has(cause) ? [cause] : [])),
    unexplained: failed.filter((one) => shown(one).length === 0),
  }
}
