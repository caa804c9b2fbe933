// The first page of the site: the first sentences, the five benefits, the picture, the install command
// and the first program of the README, which alone holds their text.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './pages.ts'

/** The page as Markdown, in the layout of a guide without its sidebar: that has a main landmark. */
export function landing(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
    .replaceAll('](docs/errors.md', '](./errors/index.md')
    .replaceAll('](docs/', '](./')
  const find = (what: string, pattern: RegExp) => {
    const [found] = pattern.exec(readme) ?? []
    if (found === undefined) throw new Error(`README.md begins without ${what}`)
    return found
  }
  const tagline = find('a paragraph', /(?<=^# .*\n\n).+$/m)
  const benefits = find('a list of five benefits', /(?:^- \*\*.*\n){5}/m)
  const picture = find('a picture', /^!\[.*\)$/m)
  const install = find('a command that installs', /^```sh\nnpm install.*?^```$/ms)
  const program = find('a program', /^```(?:js|ts)\n.*?^```$/ms)
  const wide = program.split('\n').find((line) => line.length > 80)
  if (wide !== undefined) throw new Error(`The first program of README.md is too wide: ${wide}`)
  return `---
sidebar: false
aside: false
prev: false
next: false
pageClass: landing
---

# idv-webhooks

${tagline}
{.tagline}

[Quick start](./quick-start.md) [Overview](./readme.md)
{.actions}

${benefits.trim()}
{.benefits}

${install}

${program}

${picture}
`
}
