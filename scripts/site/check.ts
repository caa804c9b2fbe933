// Checks a built site: every link and anchor holds, and no page loads anything from another host.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join, posix } from 'node:path'

export interface SiteReport {
  readonly pages: number
  readonly links: number
  readonly faults: readonly string[]
}

/** Reads every file of a built site. */
export function check(dist: string): SiteReport {
  const files = readdirSync(dist, { recursive: true, encoding: 'utf8' })
  const html = files.filter((file) => file.endsWith('.html'))
  const texts = new Map(html.map((file) => [file, readFileSync(join(dist, file), 'utf8')]))
  const ids = new Map([...texts].map(([file, text]) => [file, idsOf(text)]))
  const faults: string[] = []
  let links = 0
  for (const [file, text] of texts) {
    for (const target of loadedBy(text)) {
      if (isElsewhere(target)) faults.push(`${file} loads ${target}`)
    }
    for (const target of linksOf(text)) {
      links += 1
      const fault = faultOf(dist, { file, target }, ids)
      if (fault) faults.push(`${file} links to ${target}: ${fault}`)
    }
  }
  for (const file of files.filter((name) => name.endsWith('.css'))) {
    const css = readFileSync(join(dist, file), 'utf8')
    for (const [, target = ''] of css.matchAll(/(?:url\(|@import )["']?([^"')\s]+)/g)) {
      if (isElsewhere(target)) faults.push(`${file} loads ${target}`)
    }
  }
  return { pages: html.length, links, faults }
}

const isElsewhere = (target: string) => /^(?:[a-z]+:)?\/\//i.test(target)

/** Addresses that a browser requests by itself. */
function loadedBy(text: string): string[] {
  const tags = text.match(/<(?:script|img|iframe|source|video|audio|link)\b[^>]*>/g) ?? []
  return tags.flatMap((tag) =>
    [...tag.matchAll(/\s(?:src|href|srcset)="([^"]*)"/g)].map(([, target = '']) => target),
  )
}

function linksOf(text: string): string[] {
  return [...text.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)].map(([, target = '']) =>
    unescaped(target),
  )
}

function idsOf(text: string): ReadonlySet<string> {
  return new Set([...text.matchAll(/\sid="([^"]*)"/g)].map(([, id = '']) => unescaped(id)))
}

const unescaped = (text: string) => text.replaceAll('&amp;', '&').replaceAll('&quot;', '"')

function faultOf(
  dist: string,
  { file, target }: { readonly file: string; readonly target: string },
  ids: ReadonlyMap<string, ReadonlySet<string>>,
): string | undefined {
  if (/^[a-z]+:/i.test(target) || target === '') return undefined
  const [path = '', hash] = decodeURIComponent(target).split('#')
  const place = path.startsWith('/') ? path.slice(1) : posix.join(dirname(file), path)
  const page = path === '' ? file : fileOf(dist, place)
  if (page === undefined) return 'there is no such page'
  if (hash === undefined || hash === '') return undefined
  return ids.get(page)?.has(hash) ? undefined : 'the page has no such heading'
}

function fileOf(dist: string, place: string): string | undefined {
  const page = place === '' || place.endsWith('/') ? `${place}index.html` : `${place}.html`
  if (existsSync(join(dist, page))) return posix.normalize(page)
  return extname(place) !== '' && existsSync(join(dist, place)) ? place : undefined
}
