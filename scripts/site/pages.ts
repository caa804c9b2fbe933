// Every page of the documents: its file in the repository, its group, and its place on the site.
// The site, llms.txt and llms-full.txt are made from this one list.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

export const root = resolve(import.meta.dirname, '../..')

/** A page of Markdown. */
export interface Page {
  /** Its file, relative to the repository. */
  readonly file: string
  /** Its place on the site, with `.md`. */
  readonly path: string
  readonly title: string
  /** Its first sentence. */
  readonly summary: string
}

export interface Group {
  readonly title: string
  readonly pages: readonly Page[]
}

const groups: Readonly<Record<string, readonly string[]>> = {
  'Get started': [
    'README.md',
    ...['quick-start', 'concepts', 'laptop', 'production', 'switching', 'recipes'].map(guide),
  ],
  Receive: [
    ...['receiver', 'events', 'options', 'schemes', 'vendors', 'migrate'].map(guide),
    ...['frameworks', 'lambda', 'runtimes'].map(guide),
  ],
  'Inbox and operation': [
    ...['inbox', 'operating', 'deployment', 'tenants', 'waiting', 'scale'].map(guide),
    ...['observability', 'alerts', 'console'].map(guide),
  ],
  'Build and test': ['testing', 'sandbox', 'client', 'cli', 'mcp'].map(guide),
  'When something fails': ['docs/errors.md'],
  About: [
    ...['privacy', 'fault-model', 'comparison', 'performance', 'versioning'].map(guide),
    'SECURITY.md',
    'CHANGELOG.md',
    'ARCHITECTURE.md',
    'CONTRIBUTING.md',
  ],
}

function guide(name: string): string {
  return `docs/${name}.md`
}

/** The pages in reading order. Throws for a guide that stands in no group. */
export function groupsOfPages(): Group[] {
  const there = filesOf('docs')
  const grouped = new Set(Object.values(groups).flat())
  const lost = there.filter((file) => !grouped.has(file))
  if (lost.length > 0) throw new Error(`${lost.join(', ')}: give it a group in ${import.meta.url}`)
  return Object.entries(groups).map(([title, files]) => ({
    title,
    // Pages that another change brings are listed ahead of it.
    pages: files.filter((file) => !file.startsWith('docs/') || there.includes(file)).map(pageOf),
  }))
}

export const errorPages = (): Page[] => filesOf('docs/errors').map(pageOf)
export const skills = (): Page[] =>
  readdirSync(join(root, 'docs/skills')).map((name) => ({
    ...pageOf(`docs/skills/${name}/SKILL.md`),
    path: `skills/${name}.md`,
  }))
export const decisions = (): Page[] => filesOf('docs/decisions').map(pageOf)

function filesOf(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`)
}

function pageOf(file: string): Page {
  const text = readFileSync(join(root, file), 'utf8')
  const [, title = file] = /^# (.*)$/m.exec(text) ?? []
  const [, opening = ''] = /^# .*\n\n([^\n]*)/m.exec(text) ?? []
  const [summary = ''] = opening.split(/(?<=\.) /)
  return { file, path: pathOf(file), title, summary: summary.startsWith('#') ? '' : summary }
}

function pathOf(file: string): string {
  // The folder of the pages has the same name.
  if (file === 'docs/errors.md') return 'errors/index.md'
  const path = file.replace(/^docs\//, '')
  return dirname(path) === '.' ? basename(path).toLowerCase() : path
}
