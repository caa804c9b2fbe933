// The first page of the site: a sentence, five benefits, the picture and the program of the README.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './pages.ts'

const features: readonly (readonly [title: string, details: string, link: string])[] = [
  [
    'Signatures, proved',
    'HMAC and public keys; no handler runs on unsigned bytes.',
    './schemes.md',
  ],
  ['Nothing is lost', 'The inbox replies after the commit, and survives kill -9.', './inbox.md'],
  ['Typed events', 'Names and data are typed, also for over 20 vendors.', './receiver.md'],
  ['A service to test with', 'A sandbox with faults, a clock and a console.', './sandbox.md'],
  ['Says why it failed', 'doctor and the console prove the cause and give the fix.', './cli.md'],
]

/** The page as Markdown, in the layout of a guide without its sidebar: that has a main landmark. */
export function landing(): string {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const program = /^```(?:js|ts)\n.*?^```$/ms.exec(readme)?.[0]
  if (program === undefined) throw new Error('README.md begins without a program')
  const wide = program.split('\n').find((line) => line.length > 80)
  if (wide !== undefined) throw new Error(`The first program of README.md is too wide: ${wide}`)
  const benefits = features.map(
    ([title, details, link]) => `- **[${title}](${link})**<br>${details}`,
  )
  return `---
sidebar: false
aside: false
prev: false
next: false
pageClass: landing
---

# idv-webhooks

Receive identity-verification webhooks in Node.js: verified signatures, typed handlers, and an inbox that never loses an event.
{.tagline}

[Quick start](./quick-start.md) [Overview](./readme.md)
{.actions}

${benefits.join('\n')}
{.benefits}

\`\`\`sh
npm install idv-webhooks
\`\`\`

${program}

![A delivery that was rejected, with what is proved about it](./images/delivery.png)
`
}
