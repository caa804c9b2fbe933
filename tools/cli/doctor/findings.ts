// Mistakes of an app that verifies correctly but fails some probes: it accepts what it must refuse,
// or fails on what it cannot read. Each follows from one response, so it needs no further proof.
import type { Cause } from './advice.ts'
import type { Examined } from './examine.ts'

interface ProbeFinding {
  readonly cause: Cause
  readonly probes: readonly string[]
  readonly shows: (status: number) => boolean
}

const isTaken = (status: number) => status >= 200 && status < 300
const isCrash = (status: number) => status >= 500
const isRefused = (status: number) => status >= 400 && status < 500

const findings: readonly ProbeFinding[] = [
  { cause: 'signature-not-compared', probes: ['a malformed signature'], shows: isTaken },
  { cause: 'headers-joined', probes: ['two signature headers'], shows: isTaken },
  { cause: 'time-not-checked', probes: ['a signature of an hour ago'], shows: isTaken },
  {
    cause: 'unreadable-fails',
    probes: ['a body that is not JSON', 'a body that is not UTF-8'],
    shows: isCrash,
  },
  {
    cause: 'mark-not-read',
    probes: ['a byte order mark'],
    shows: (status) => isCrash(status) || status === 400,
  },
  {
    cause: 'unreadable-taken',
    probes: ['a body that is not UTF-8', 'a body that is not JSON'],
    shows: isTaken,
  },
  { cause: 'compressed-read', probes: ['a compressed body'], shows: (one) => !isRefused(one) },
  { cause: 'any-method', probes: ['another method (GET)'], shows: (one) => !isRefused(one) },
  { cause: 'parser-limit', probes: ['a body of 256 KiB'], shows: (status) => status === 413 },
  {
    cause: 'parser-content-type',
    probes: ['a charset in the content type'],
    shows: (status) => status === 415,
  },
  { cause: 'unbounded', probes: ['a body of 12 MiB'], shows: isTaken },
]

/** The causes that responses show, and the failed probes that they do not explain. */
export function findingsOf(examined: readonly Examined[]): {
  readonly causes: readonly Cause[]
  readonly unexplained: readonly Examined[]
} {
  const failed = examined.filter(({ result }) => result === 'fails')
  const shown = ({ probe, answer }: Examined) =>
    findings.filter(({ probes, shows }) => probes.includes(probe.name) && shows(answer.status))
  const found = new Set(failed.flatMap(shown).map(({ cause }) => cause))
  return {
    causes: findings.flatMap(({ cause }) => (found.has(cause) ? [cause] : [])),
    unexplained: failed.filter((one) => shown(one).length === 0),
  }
}
