// Writes the pages where VitePress reads them, with links that lead to other pages of the site.
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, join, posix } from 'node:path'
import { type Page, root } from './pages.ts'

export const staged = join(root, 'scripts/site/pages')

/** Writes pages and examples; returns the paths of the examples. */
export function stage(pages: readonly Page[]): string[] {
  const examples = filesBelow('examples')
  const places = new Map([
    ...pages.map(({ file, path }) => [file, path] as const),
    ...examples.map((file) => [file, `${file}.md`] as const),
    ...examples.map((file) => [dirname(file), 'examples/index.md'] as const),
    ...downloads().map((file) => [file, `/${basename(file)}`] as const),
  ])
  for (const page of pages) {
    write(page.path, relinked(page, readFileSync(join(root, page.file), 'utf8'), places))
  }
  for (const file of examples) write(`${file}.md`, exampleOf(file))
  write(
    'examples/index.md',
    listOf(
      'Examples',
      examples.map((file) => [file.slice(9), `/${file}`]),
    ),
  )
  const why = pages.filter(({ file }) => file.startsWith('docs/decisions/'))
  write(
    'decisions/index.md',
    listOf(
      'Decisions',
      why.map(({ title, path }) => [title, `/${path.replace(/\.md$/, '')}`]),
    ),
  )
  cpSync(join(root, 'docs/images'), join(staged, 'images'), { recursive: true })
  for (const file of downloads()) cpSync(join(root, file), join(staged, 'public', basename(file)))
  return examples
}

/** Writes a page below the folder that VitePress reads. */
export function write(path: string, text: string): void {
  const file = join(staged, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

function relinked({ file, path }: Page, text: string, places: ReadonlyMap<string, string>): string {
  const link = (whole: string, target: string) => {
    if (/^([a-z]+:|#)/.test(target)) return whole
    const [to = '', hash] = target.split('#')
    const source = posix.normalize(posix.join(posix.dirname(file), to)).replace(/\/$/, '')
    const place = source.startsWith('docs/images/') ? source.slice(5) : places.get(source)
    if (place === undefined) throw new Error(`${file} links to ${target}, which has no page`)
    // A file that is no page keeps its own address.
    if (place.startsWith('/')) return `](${place})`
    const relative = posix.relative(posix.dirname(path), place)
    const dotted = relative.startsWith('.') ? relative : `./${relative}`
    return `](${dotted}${hash === undefined ? '' : `#${hash}`})`
  }
  return text
    .split(/(^```.*?^```$)/ms)
    .map((part) => (part.startsWith('```') ? part : part.replace(/\]\(([^)\s]+)\)/g, link)))
    .join('')
}

const exampleOf = (file: string) => {
  const code = readFileSync(join(root, file), 'utf8')
  return `# ${file}\n\n\`\`\`${extname(file).slice(1)}\n${code}\`\`\`\n`
}

const listOf = (title: string, entries: readonly (readonly [string, string])[]) =>
  `# ${title}\n\n${entries.map(([name, to]) => `- [${name.replaceAll(/[[\]]/g, '\\$&')}](<${to}>)`).join('\n')}\n`

/** Files beside the guides that readers take away. */
const downloads = () =>
  readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.json'))
    .map((name) => `docs/${name}`)

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((file) => /\.(tsx?|yaml)$/.test(file) && !/\/(\.next|node_modules)\//.test(file))
    .filter((file) => statSync(join(root, file)).isFile() && !file.endsWith('next-env.d.ts'))
    .sort()
}
