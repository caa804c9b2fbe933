// node scripts/vendors-page.ts: writes what docs/vendors.md says of each preset, from its data.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDecision } from '../src/protocol/names.ts'
import { readVendorEvent } from '../src/protocol/vendor.ts'
import { type Vendor, vendors } from '../src/vendors/index.ts'

const file = join(import.meta.dirname, '../docs/vendors.md')

/** Options without which a preset cannot be made. */
const needed: Readonly<Record<string, string>> = {
  jumio: "{ allow: ['203.0.113.0/24'], proxies: 1 }",
  smileId: "{ partnerId: '2000' }",
}

const { jumio, smileId, ...others } = vendors
const all: readonly Vendor[] = [
  ...Object.values(others).map((make) => make()),
  jumio({ allow: ['203.0.113.0/24'], proxies: 1 }),
  smileId({ partnerId: '2000' }),
].toSorted((one, other) => one.title.localeCompare(other.title))

const call = ({ name }: Vendor) => `vendors.${name}(${needed[name] ?? ''})`

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

const lastRead = ({ documents }: Vendor) =>
  documents
    .map(({ read }) => read)
    .toSorted()
    .at(-1)

/** A table of all presets. */
function table(): string {
  const rows = all.map((vendor) => {
    const tried = `${vendor.triedOn}, ${lastRead(vendor)}`
    const preset = `[\`${vendor.name}\`](#${anchorOf(vendor)})`
    const cells = [preset, proofOf(vendor), decisionsOf(vendor), repliesOf(vendor), tried]
    return `| ${cells.join(' | ')} |`
  })
  const head = '| preset | proof | decisions | success, repeats | tried on, read |'
  return [head, '|---|---|---|---|---|', ...rows].join('\n')
}

const anchorOf = ({ title }: Vendor) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-')

/** How to mount one, what its events are, and what its documents leave open. */
function section(vendor: Vendor): string {
  const { name, title, scheme, delivery } = vendor
  const { authenticity } = scheme
  const secret = `${name.replaceAll(/([A-Z])/g, '_$1').toUpperCase()}_SECRET`
  const key = name === 'plaid' ? 'plaidKeys' : `process.env.${secret}`
  const given = [
    `vendor: ${call(vendor)},`,
    `secret: ${authenticity === 'ip' ? 'undefined' : key},`,
    ...(authenticity === 'signature' ? [] : [`authenticity: '${authenticity}',`]),
  ]
  const code = `createReceiver({\n${given.map((line) => `  ${line}\n`).join('')}})`
  const events = eventsOf(vendor)
  const note = delivery.note ? ` ${sentence(delivery.note)}` : ''
  return `### ${title}\n\n\`\`\`ts\n${code}\n\`\`\`\n\n${events}${note}`
}

function eventsOf(vendor: Vendor): string {
  const read = vendor.fixtures.map(({ name = '', body }) => ({
    name,
    own: `\`${readVendorEvent(vendor, body)?.receivedName}\``,
  }))
  const example = ['verification.approved', 'verification.expired', 'verification.created']
    .flatMap((name) => read.find((one) => one.name === name) ?? [])
    .at(0)
  const own = [...new Set(read.filter(({ name }) => name === '').map((one) => one.own))]
  const inWebhook = vendor.reading.rules.some(({ is }) => isDecision(is))
  const kept = own.filter((one) => !read.some(({ name, own }) => name !== '' && own === one))
  return [
    ...(example ? [`${example.own} is \`${example.name}\`.`] : []),
    ...(kept.length > 0 ? [`Not renamed: ${kept.slice(0, 2).join(', ')}.`] : []),
    ...(inWebhook ? [] : [vendor.decisions ? 'Decisions need `api`.' : 'No event decides.']),
  ].join(' ')
}

/** A note as a sentence; one that begins with a name of the vendor's keeps its spelling. */
const sentence = (text: string) =>
  /^[a-z]+[._]/.test(text) ? `${text}.` : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

const parts = { presets: table(), 'one by one': all.map(section).join('\n\n') }

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
