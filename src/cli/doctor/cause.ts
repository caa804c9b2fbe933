// From the answers to the cause: which kind of middleware changed the bytes, proved by signing what
// it would make of them. Only what was proved is named.
import type { Session } from '../session.ts'
import { type Examined, type Patient, sendProbe } from './examine.ts'
import { findLapses } from './findings.ts'
import { refusedByParser } from './framework.ts'
import type { Cause } from './known-causes.ts'
import type { Probe } from './probes.ts'

/** Finds the causes of what does not hold; the first is the one to mend first. */
export async function findCauses(
  session: Session,
  patient: Patient,
  examined: readonly Examined[],
): Promise<readonly Cause[]> {
  const genuine = of(examined, 'a genuine delivery')
  // Without a genuine delivery one that is refused shows what stands in the way.
  const first = genuine ?? of(examined, 'a wrong signature')
  const blocked = first && blockedBy(first)
  if (blocked) return [blocked]
  // It was sent with a signature, so its secret and its bytes were never looked at.
  if (first?.told.code === 'SIGNATURE_MISSING') {
    return ['signature-lost', ...lapsesOf(examined, ['signature-lost'])]
  }
  if (!genuine) return lapsesOf(examined, [])
  const causes: Cause[] = []
  const unsigned = of(examined, 'no signature')
  const wrong = of(examined, 'a wrong signature')
  if (genuine.holds && unsigned && isTaken(unsigned)) causes.push('not-verified')
  else if (genuine.holds && wrong && isTaken(wrong)) causes.push('signature-not-compared')
  // What takes everything proves nothing about the bytes.
  else causes.push(...(await alterations(session, patient, examined)))
  const refused = genuine.answer.status === 401
  if (refused && causes.length === 0) causes.push('secret-or-scheme')
  return [...causes, ...lapsesOf(examined, causes)]
}

/** What holds whatever happens to the bytes. */
const apart: readonly Cause[] = ['parser-limit', 'parser-content-type', 'unbounded']

/** Lapses are worth a word of their own where no graver cause brings them about. */
function lapsesOf(examined: readonly Examined[], graver: readonly Cause[]): readonly Cause[] {
  const { causes, unexplained } = findLapses(examined)
  if (graver.length > 0) return causes.filter((cause) => apart.includes(cause))
  return unexplained.length > 0 ? [...causes, 'unexplained'] : causes
}

/** What keeps every delivery away from the verification. */
function blockedBy({ answer, told }: Examined): Cause | undefined {
  const { status } = answer
  if (status === 0) return 'unreachable'
  if (status >= 300 && status < 400) return 'redirected'
  if (told.code === 'BODY_CONSUMED') return 'body-consumed'
  if (status === 404 || status === 405) return 'no-route'
  if (status === 403 || (status === 401 && told.code === undefined && isPage(answer.body))) {
    return 'guarded'
  }
  return status >= 500 ? 'handler-failed' : undefined
}

function isPage(body: Uint8Array): boolean {
  return /<html|<form|login|sign in/i.test(new TextDecoder().decode(body))
}

const isTaken = ({ answer }: Examined) => answer.status >= 200 && answer.status < 300

function of(examined: readonly Examined[], name: string): Examined | undefined {
  return examined.find(({ probe }) => probe.name === name)
}

/** An alteration: the probe that it breaks, and what it makes of a body. */
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
    breaks: 'a body that is no UTF-8',
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

/** Signs what an alteration would make of a probe that failed: taken now, it is proved. */
async function alterations(
  session: Session,
  patient: Patient,
  examined: readonly Examined[],
): Promise<readonly Cause[]> {
  const proved = new Set<Cause>()
  for (const { cause, breaks, makes } of alterationsKnown) {
    const failed = of(examined, breaks)
    if (!failed || failed.holds || proved.has(cause)) continue
    if (followsFrom(proved, cause)) continue
    if (await isProved(session, patient, { probe: failed.probe, makes })) proved.add(cause)
  }
  const malformed = of(examined, 'a body that is no JSON')
  return [...proved].map((cause) =>
    cause === 'reserialized-on-the-way' && malformed && parsedInApp(malformed)
      ? 'reserialized-by-parser'
      : cause,
  )
}

/** Whoever parses decodes, and whoever decodes drops marks: that needs no naming of its own. */
function followsFrom(proved: ReadonlySet<Cause>, cause: Cause): boolean {
  const parsed = proved.has('reserialized-on-the-way')
  if (cause === 'decoded-as-text' || cause === 'newline-removed') return parsed
  return cause === 'mark-removed' && (parsed || proved.has('decoded-as-text'))
}

/** A proxy hands on what it cannot parse; a parser in the app refuses it in its own words. */
function parsedInApp({ answer }: Examined): boolean {
  return refusedByParser(answer)
}

async function isProved(
  session: Session,
  patient: Patient,
  { probe, makes }: { readonly probe: Probe; readonly makes: Alteration['makes'] },
): Promise<boolean> {
  let signedBody: Uint8Array | undefined
  try {
    signedBody = makes(probe.body)
  } catch {
    return false
  }
  if (signedBody === undefined) return false
  const { status } = await sendProbe(session, patient, { probe, signedBody })
  // The body that is no UTF-8 may be refused for that, once it is verified.
  const verified = status >= 200 && status < 300
  return probe.guarantee === 'refuses' ? verified || status === 400 : verified
}
