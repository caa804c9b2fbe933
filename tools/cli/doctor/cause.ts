// Infers causes from responses: which middleware changes the bytes. doctor proves a cause by
// signing the bytes that the middleware would make, and names only proved causes.
import type { Session } from '../session.ts'
import { type Cause, refusedByParser } from './advice.ts'
import { type Examined, isRefused, isTaken, type ProbeTarget, sendProbe } from './probes.ts'

/** Finds the causes of failed probes; the first is the one to fix first. */
export async function findCauses(
  session: Session,
  target: ProbeTarget,
  examined: readonly Examined[],
): Promise<readonly Cause[]> {
  const genuine = probeOf(examined, 'a genuine delivery')
  // If no genuine delivery was accepted, a rejected one shows what is in the way.
  const first = genuine ?? probeOf(examined, 'a wrong signature')
  const blocked = first && blockedBy(first, examined)
  if (blocked) return [blocked]
  // It was sent with a signature, so its secret and bytes were never checked.
  if (first?.outcome.code === 'SIGNATURE_MISSING') {
    return ['signature-lost', ...otherCauses(examined, ['signature-lost'])]
  }
  if (!genuine) return otherCauses(examined, [])
  const takes = (name: string) =>
    genuine.result === 'holds' && isTaken(probeOf(examined, name)?.answer.status ?? 0)
  const causes = takes('no signature')
    ? ['not-verified' as const]
    : takes('a wrong signature')
      ? ['signature-not-compared' as const]
      : // An app that accepts everything proves nothing about the bytes.
        await provedAlterations(session, target, examined)
  if (genuine.answer.status === 401 && causes.length === 0) {
    return ['secret-or-scheme', ...otherCauses(examined, ['secret-or-scheme'])]
  }
  return [...causes, ...otherCauses(examined, causes)]
}

function probeOf(examined: readonly Examined[], name: string): Examined | undefined {
  return examined.find(({ probe }) => probe.name === name)
}

/** Codes of a receiver that name the cause themselves. */
const byCode: Readonly<Record<string, Cause>> = {
  BODY_CONSUMED: 'body-consumed',
  ENVELOPE_INVALID: 'envelope-not-read',
  SECRET_UNAVAILABLE: 'secret-unavailable',
  STORE_UNAVAILABLE: 'store-unavailable',
  HANDLER_FAILED: 'handler-failed',
  HANDLER_TIMEOUT: 'handler-failed',
}

function blockedBy({ answer, outcome }: Examined, examined: readonly Examined[]) {
  const { status, body } = answer
  const { code = '' } = outcome
  if (status === 0) {
    return examined.some((one) => one.answer.status > 0) ? 'unanswered' : 'unreachable'
  }
  if (status >= 300 && status < 400) return 'redirected'
  if (Object.hasOwn(byCode, code)) return byCode[code]
  if (status === 404 || status === 405) return 'no-route'
  const isPage = /<html|<form|login|sign in/i.test(new TextDecoder().decode(body))
  if (status === 403 || (status === 401 && code === '' && isPage)) return 'guarded'
  return status >= 500 ? 'app-failed' : undefined
}

/** A change to the text of a body on its way, and the probe that it breaks. */
type Alteration = readonly [cause: Cause, breaks: string, alter: (text: string) => string]

const reparsed = (text: string) => JSON.stringify(JSON.parse(text))
/** JSON as Python writes it: `{"a": 1, "b": [1, 2]}`. */
const spaced = (text: string) =>
  reparsed(text).replaceAll(/("(?:[^"\\]|\\.)*")|([:,])/g, (_, part, mark) => part ?? `${mark} `)
const reserialized = (alter: Alteration[2]): Alteration => [
  'reserialized-on-the-way',
  'odd white space',
  alter,
]

const alterations: readonly Alteration[] = [
  reserialized(reparsed),
  reserialized((text) => `${reparsed(text)}\n`),
  reserialized(spaced),
  reserialized((text) => JSON.stringify(JSON.parse(text), null, 2)),
  ['newline-added', 'a genuine delivery', (text) => `${text}\n`],
  ['newline-added', 'a genuine delivery', (text) => `${text}\r\n`],
  ['newline-removed', 'a line break at the end', (text) => text.trim()],
  ['decoded-as-text', 'a body that is not UTF-8', (text) => text],
]

async function provedAlterations(
  session: Session,
  target: ProbeTarget,
  examined: readonly Examined[],
): Promise<readonly Cause[]> {
  const proved = new Set<Cause>()
  for (const [cause, breaks, alter] of alterations) {
    const failed = probeOf(examined, breaks)
    if (failed?.result !== 'fails' || proved.has(cause)) continue
    // Parsing implies decoding and trimming: these are not named beside it.
    if (proved.has('reserialized-on-the-way') && cause !== 'newline-added') continue
    const { probe } = failed
    const signedBody = alteredBody(probe.body, alter)
    if (!signedBody) continue
    const { status } = await sendProbe(session, target, { probe, signedBody })
    // A body that is not UTF-8 may be refused for that after it verified.
    const isRead = probe.guarantee === 'refuses' && status === 400
    if (isTaken(status) || isRead) proved.add(cause)
  }
  // A proxy forwards a body that it cannot parse; a parser of the app rejects it with its own
  // message.
  const malformed = probeOf(examined, 'a body that is not JSON')
  const inApp = malformed !== undefined && refusedByParser(malformed.answer)
  return [...proved].map((cause) =>
    cause === 'reserialized-on-the-way' && inApp ? 'reserialized-by-parser' : cause,
  )
}

function alteredBody(body: Uint8Array, alter: Alteration[2]): Uint8Array | undefined {
  try {
    const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(body)
    return new TextEncoder().encode(alter(text))
  } catch {
    return undefined
  }
}

/** A mistake of an app that verifies correctly; it follows from one response, without further proof. */
type ProbeFinding = readonly [
  cause: Cause,
  probes: readonly string[],
  shows: (status: number) => boolean,
]

const isCrash = (status: number) => status >= 500
const isNotRefused = (status: number) => !isRefused(status)
const unreadable = ['a body that is not JSON', 'a body that is not UTF-8']

const findings: readonly ProbeFinding[] = [
  ['signature-not-compared', ['a malformed signature'], isTaken],
  ['headers-joined', ['two signature headers'], isTaken],
  ['time-not-checked', ['a signature of an hour ago'], isTaken],
  ['unreadable-fails', unreadable, isCrash],
  ['unreadable-taken', unreadable, isTaken],
  ['compressed-read', ['a compressed body'], isNotRefused],
  ['any-method', ['another method (GET)'], isNotRefused],
  ['parser-limit', ['a body of 256 KiB'], (status) => status === 413],
  ['parser-content-type', ['a charset in the content type'], (status) => status === 415],
  ['unbounded', ['a body of 12 MiB'], isTaken],
]

/** Causes that are independent of what happens to the bytes. */
const independent: readonly Cause[] = ['parser-limit', 'parser-content-type', 'unbounded']

/** Findings are named if no graver cause explains them. */
function otherCauses(examined: readonly Examined[], graver: readonly Cause[]): readonly Cause[] {
  const failed = examined.filter(({ result }) => result === 'fails')
  const shown = findings.filter((finding) => failed.some((one) => shows(finding, one)))
  const causes = shown.map(([cause]) => cause)
  if (graver.length > 0) return causes.filter((cause) => independent.includes(cause))
  const isExplained = failed.every((one) => findings.some((finding) => shows(finding, one)))
  return isExplained ? causes : [...causes, 'unexplained']
}

const shows = ([, probes, test]: ProbeFinding, { probe, answer }: Examined): boolean =>
  probes.includes(probe.name) && test(answer.status)

/** Chooses, of several causes, the one for which a probe has failed. */
export function causeOf(failed: Examined, causes: readonly Cause[]): Cause | undefined {
  const own = findings.find((finding) => causes.includes(finding[0]) && shows(finding, failed))
  return own?.[0] ?? causes.find((cause) => cause === 'unexplained') ?? causes[0]
}
