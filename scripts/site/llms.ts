// llms.txt and llms-full.txt: the documents for programs that read them, made from the same list
// of pages as the site, which has both. `npm run build` writes llms.txt beside package.json.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorPages, groupsOfPages, type Page, root } from './pages.ts'

const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** The list of pages with a sentence about each; `base` is put before each path. */
export function llms(base = ''): string {
  const { description } = JSON.parse(read('package.json')) as { description: string }
  const line = ({ file, title, summary }: Page) =>
    `- [${title}](${base}${file})${summary && `: ${plain(summary)}`}`
  const groups = groupsOfPages().map(
    ({ title, pages }) => `## ${title}\n\n${pages.map(line).join('\n')}\n`,
  )
  const skills = readdirSync(join(root, 'docs/skills')).map((name) => {
    const [, about = ''] = /^description: (.*)$/m.exec(read(`docs/skills/${name}/SKILL.md`)) ?? []
    return `- [${name}](${base}docs/skills/${name}/SKILL.md): ${about}`
  })
  return [
    `# idv-webhooks\n\n> ${description}\n`,
    `Paths are relative to this file. ${base && '`llms-full.txt` holds all pages in one file. '}\`docs/errors.md\` lists every error code; some have a page in \`docs/errors/\`.\n`,
    ...groups,
    `## Skills\n\n${skills.join('\n')}\n`,
  ].join('\n')
}

/** All guides and error pages in one text, each after a line that names its file. */
export function llmsFull(): string {
  const isForUsers = ({ file }: Page) => !/^(CHANGELOG|ARCHITECTURE|CONTRIBUTING)\.md$/.test(file)
  const pages = groupsOfPages().flatMap((group) => group.pages.filter(isForUsers))
  return [...pages, ...errorPages()]
    .map(({ file }) => `<!-- ${file} -->\n\n${read(file).trim()}\n`)
    .join('\n')
}

/** Links of a summary lead from its own page, so their text alone is kept. */
const plain = (text: string) => text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')

if (import.meta.main) writeFileSync(join(root, 'llms.txt'), llms())
