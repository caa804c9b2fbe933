// From responses to causes: which kind of middleware changes the bytes, proved by signing what it
// would make of them. Only proved causes are named.
import type { Session } from '../session.ts'
import type { Cause } from './advice.ts'
import { type Examined, sendProbe, type Target } from './examine.ts'
import { findingsOf } from './findings.ts'
import { refusedByParser } from './framework.ts'
import { allSpellings, type Probe } from './probes.ts'

/** Finds the causes of what fails; the first is the one to fix first. */
export async function findCauses(
  session: Session,
  target: Target,
  examined: readonly Examined[],
): Promise<readonly Cause[]> {
  const genuine = of(examined, allSpellings) ?? of(examined, 'a genuine delivery')
  // Without a genuine delivery, a refused one shows what is in the way.
  const first = genuine ?? of(examined, 'a wrong signature')
  const blocked = first && blockedBy(first, examined)
  if (blocked) return [blocked]
  // It was sent with a signature, so its secret and bytes were never checked.
  if (first?.outcome.code === 'SIGNATURE_MISSING') {
    return ['signature-lost', ...otherCauses(examined, ['signature-lost'])]
  }
  if (!genuine) return otherCauses(examined, [])
  const causes: Cause[] = []
  const unsigned = of(examined, 'no signature')
  const wrong = of(examined, 'a wrong signature')
  if (genuine.result === 'holds' && unsigned && isTaken(unsigned)) causes.push('not-verified')
  else if (genuine.result === 'holds' && wrong && isTaken(wrong))
    causes.push('signature-not-compared')
  // An app that accepts everything proves nothing about the bytes.
  else causes.push(...(await alterations(session, target, examined)))
  const refused = genuine.answer.status === 401
  if (refused && causes.length === 0) causes.push('secret-or-scheme')
  return [...causes, ...otherCauses(examined, causes)]
}

/** Causes that are independent of what happens to the bytes. */
const independent: readonly Cause[] = ['parser-limit', 'parser-content-type', 'unbounded']

/** Findings are named if no graver cause explains them. */
function otherCauses(examined: readonly Examined[], graver: readonly Cause[]): readonly Cause[] {
  const { causes, unexplained } = findingsOf(examined)
  if (graver.length > 0) return causes.filter((cause) => independent.includes(cause))
  return unexplained.length > 0 ? [...causes, 'unexplained'] : causes
}

/** Codes of a receiver that name the cause themselves. */
const byCode: Readonly<Record<string, Cause>> = {
  BODY_CONSUMED: 'body-consumed',
  ENVELOPE_INVALID: 'envelope-not-read',
  SECRET_UNAVAILABLE: 'secret-unavailable',
  STORE_UNAVAILABLE: 'store-unavailable',
  OVERLOADED: 'overloaded',
  DRAINING: 'draining',
  HANDLER_FAILED: 'handler-failed',
  HANDLER_TIMEOUT: 'handler-failed',
}

/** The cause that keeps every delivery from verification, if there is one. */
function blockedBy(
  { answer, outcome }: Examined,
  examined: readonly Examined[],
): Cause | undefined {
  const { status } = answer
  const { code = '' } = outcome
  if (status === 0) {
    return examined.some((one) => one.answer.status > 0) ? 'unanswered' : 'unreachable'
  }
  if (status >= 300 && status < 400) return 'redirected'
  if (Object.hasOwn(byCode, code)) return byCode[code]
  if (status === 404 || status === 405) return 'no-route'
  if (status === 403 || (status === 401 && code === '' && isPage(answer.body))) {
    return 'guarded'
  }
  return status >= 500 ? 'app-failed' : undefined
}

function isPage(body: Uint8Array): boolean {
  return /<html|<form|login|sign in/i.test(new TextDecoder().decode(body))
}

const isTaken = ({ answer }: Examined) => answer.status >= 200 && answer.status < 300

function of(examined: readonly Examined[], name: string): Examined | undefined {
  return examined.find(({ probe }) => probe.name === name)
}

/** An alteration: the probe that it breaks, and its effect on a body. */
interface Alteration {
  readonly cause: Cause
  readonly breaks: string
  readonly makes: (body: Uint8Array) => Uint8Array | undefined
}

const decode = (body: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
const encode = (text: string) => new TextEncoder().encode(text)
const latin1 = (body: Uint8Array) => Buffer.from(body).toString('latin1')
const reparsed = (body: Uint8Array) =>
  JSON.stringify(JSON.parse(decode(body).replace(/^\uFEFF/, '')))

const alterationsKnown: readonly Alteration[] = [
  ...[reparsed, (body: Uint8Array) => `${reparsed(body)}\n`, spaced, indented].map(
    (respell): Alteration => ({
      cause: 'reserialized-on-the-way',
      breaks: 'odd white space',
      makes: (body) => encode(respell(body)),
    }),
  ),
  {
    cause: 'newline-added',
    breaks: 'a genuine delivery',
    makes: (body) => encode(`${decode(body)}\n`),
  },
  {
    cause: 'newline-added',
    breaks: 'a genuine delivery',
    makes: (body) => encode(`${decode(body)}\r\n`),
  },
  {
    cause: 'newline-removed',
    breaks: 'a line break at the end',
    makes: (body) => encode(decode(body).trim()),
  },
  {
    cause: 'decoded-as-text',
    breaks: 'a body that is not UTF-8',
    makes: (body) => encode(decode(body)),
  },
  {
    cause: 'mark-removed',
    breaks: 'a byte order mark',
    makes: (body) => encode(decode(body).replace(/^\uFEFF/, '')),
  },
  {
    cause: 'decoded-as-latin1',
    breaks: 'a letter beyond ASCII (é)',
    makes: (body) => encode(latin1(body)),
  },
]

function spaced(body: Uint8Array): string {
  return reparsed(body).replaceAll(
    /("(?:[^"\\]|\\.)*")|([:,])/g,
    (_, text, mark) => text ?? `${mark} `,
  )
}

function indented(body: Uint8Array): string {
  return JSON.stringify(JSON.parse(decode(body)), null, 2)
}

/** Signs what an alteration would make of a failed probe: if that is accepted, it is proved. */
async function alterations(
  session: Session,
  target: Target,
  examined: readonly Examined[],
): Promise<readonly Cause[]> {
  const proved = new Set<Cause>()
  for (const { cause, breaks, makes } of alterationsKnown) {
    const failed = of(examined, breaks)
    if (failed?.result !== 'fails' || proved.has(cause)) continue
    if (followsFrom(proved, cause)) continue
    if (await isProved(session, target, { probe: failed.probe, makes })) proved.add(cause)
  }
  const malformed = of(examined, 'a body that is not JSON')
  return [...proved].map((cause) =>
    cause === 'reserialized-on-the-way' && malformed && parsedInApp(malformed)
      ? 'reserialized-by-parser'
      : cause,
  )
}

/** Parsing implies decoding, and decoding drops marks: these follow and are not named. */
function followsFrom(proved: ReadonlySet<Cause>, cause: Cause): boolean {
  const parsed = proved.has('reserialized-on-the-way')
  if (cause === 'decoded-as-text' || cause === 'newline-removed') return parsed
  return cause === 'mark-removed' && (parsed || proved.has('decoded-as-text'))
}

/** A proxy forwards what it cannot parse; a parser of the app refuses it in its own words. */
function parsedInApp({ answer }: Examined): boolean {
  return refusedByParser(answer)
}

async function isProved(
  session: Session,
  target: Target,
  { probe, makes }: { readonly probe: Probe; readonly makes: Alteration['makes'] },
): Promise<boolean> {
  let signedBody: Uint8Array | undefined
  try {
    signedBody = makes(probe.body)
  } catch {
    return false
  }
  if (signedBody === undefined) return false
  const { status } = await sendProbe(session, target, { probe, signedBody })
  // A body that is not UTF-8 may be refused for that after it verified.
  const verified = status >= 200 && status < 300
  return probe.guarantee === 'refuses' ? verified || status === 400 : verified
}
