// node scripts/vendors-page.ts: writes what docs/vendors.md says of each preset, from its data.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDecision } from '../src/protocol/names.ts'
import { readVendorEvent, type Vendor, vendors } from '../src/vendors/index.ts'

const file = join(import.meta.dirname, '../docs/vendors.md')

const { jumio, smileId, ...others } = vendors
const all: readonly Vendor[] = [
  ...Object.values(others).map((make) => make()),
  jumio({ allow: ['203.0.113.0/24'], proxies: 1 }),
  smileId({ partnerId: '2000' }),
].toSorted((one, other) => one.title.localeCompare(other.title))

function proofOf({ scheme }: Vendor): string {
  const { authenticity, algorithm, header, grammar, bodyJws, tolerance } = scheme
  if (bodyJws) return `the body is a JWT, ${bodyJws.algorithms.join().toUpperCase()}`
  if (authenticity === 'ip') return 'its addresses alone'
  if (authenticity === 'token') return `a token in \`${header}\``
  if (authenticity === 'timestamp') return `\`${header}\`, a time alone`
  const isJwt = typeof grammar === 'object' && 'jwt' in grammar
  const how = isJwt ? `${algorithm.toUpperCase()} JWT` : algorithm.replace('sha', 'SHA-')
  return `\`${header}\`, ${how}${tolerance === 'none' ? '' : ', timed'}`
}

function decisionsOf({ reading, decisions, finality }: Vendor): string {
  const decided = reading.rules.map(({ is }) => is).filter(isDecision)
  const isExpiry = decided.every((name) => name === 'verification.expired')
  const places = [
    ...(decided.length > 0 ? [isExpiry ? 'webhook: expiry alone' : 'webhook'] : []),
    ...(decisions ? ['`api`'] : []),
  ]
  if (places.length === 0) return 'none'
  return places.join(', ') + (finality.reversible.length > 0 ? '; may change' : '')
}

function repliesOf({ delivery: { success, timeout, retries } }: Vendor): string {
  const told = [
    ...(success ? [String(success)] : []),
    ...(timeout ? [`in ${timeout / 1000} s`] : []),
    ...(retries ? [`, ${retries.length} repeats`] : []),
  ]
  return told.join(' ').replace(' ,', ',') || '–'
}

/** The vendor's name of an approval, of one of its fixtures. */
function approvalOf(vendor: Vendor): string {
  const fixture = vendor.fixtures.find(({ name }) => name === 'verification.approved')
  return fixture ? `\`${readVendorEvent(vendor, fixture.body)?.receivedName}\`` : '–'
}

/** A table of all presets. */
function table(): string {
  const rows = all.map((vendor) => {
    const cells = [proofOf, decisionsOf, repliesOf, approvalOf].map((cell) => cell(vendor))
    return `| \`${vendor.name}\` | ${cells.join(' | ')} |`
  })
  const head = '| preset | proof | decisions | success, repeats | an approval is |'
  return [head, '|---|---|---|---|---|', ...rows].join('\n')
}

/** Says which presets were tested with published signatures, and when their documents were read. */
function tried(): string {
  const dates = all.flatMap(({ documents }) => documents.map(({ read }) => read)).toSorted()
  const onVectors = all.filter(({ triedOn }) => triedOn === 'vectors')
  const names = onVectors.map(({ name }) => `\`${name}\``).join(', ')
  return [
    `The documents were read between ${dates[0]} and ${dates.at(-1)}.`,
    `Signatures that the vendor has published verify for ${names}.`,
    'No preset was tried on a real delivery.',
  ].join(' ')
}

/** The notes of vendors that have one. */
function notes(): string {
  const noted = all.flatMap(({ title, delivery: { note } }) => (note ? [{ title, note }] : []))
  return noted.map(({ title, note }) => `- **${title}**: ${note}.`).join('\n')
}

const parts = { presets: table(), tried: tried(), notes: notes() }

/** The page with what is generated in it brought up to date. */
export function withGenerated(page: string): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const marks = new RegExp(
      `(<!-- generated: ${name} -->\n).*?(<!-- /generated: ${name} -->)`,
      's',
    )
    if (!marks.test(text)) throw new Error(`docs/vendors.md has no marks of ${name}`)
    return text.replace(marks, (_, begin, end) => `${begin}${part}\n${end}`)
  }, page)
}

if (import.meta.main) writeFileSync(file, withGenerated(readFileSync(file, 'utf8')))
