// Builds the site into scripts/site/dist: stages pages, makes the reference, runs VitePress, checks links.
import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'vitepress'
import { check } from './check.ts'
import { landing } from './landing.ts'
import { llms, llmsFull } from './llms.ts'
import { decisions, errorPages, groupsOfPages, root, skills } from './pages.ts'
import { writeApi, writeCommands, writeReferenceIndex } from './reference.ts'
import { stage, staged, write } from './stage.ts'

if (!existsSync(join(root, 'dist/cli.js'))) {
  console.error(
    'There is no build: run `npm run docs`, or `npm run build` before `npm run docs:site`',
  )
  process.exit(1)
}
rmSync(staged, { recursive: true, force: true })
stage([
  ...groupsOfPages().flatMap(({ pages }) => pages),
  ...errorPages(),
  ...decisions(),
  ...skills(),
])
write('index.md', landing())
writeCommands()
writeReferenceIndex(await writeApi())
await build(join(root, 'scripts/site'))

const dist = join(root, 'scripts/site/dist')
// The targets of llms.txt's links: the Markdown files, at the paths of the package.
for (const folder of ['docs', 'examples']) {
  cpSync(join(root, folder), join(dist, 'source', folder), { recursive: true })
}
for (const file of [
  'README.md',
  'SECURITY.md',
  'CHANGELOG.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
]) {
  cpSync(join(root, file), join(dist, 'source', file))
}
writeFileSync(join(dist, 'llms.txt'), llms('source/'))
writeFileSync(join(dist, 'llms-full.txt'), llmsFull())

const { pages, links, faults } = check(dist)
for (const fault of faults) console.error(fault)
console.log(`${pages} pages, ${links} links, ${faults.length} faults`)
process.exitCode = faults.length > 0 ? 1 : 0
