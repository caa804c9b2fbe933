// Refuses to publish a version whose figures in docs/performance.md are of another version.
import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
const page = readFileSync('docs/performance.md', 'utf8')
const measured = [...page.matchAll(/^idv-webhooks (\S+) at /gm)].map(([, found]) => found)
const others = new Set(measured.filter((found) => found !== version))
if (measured.length === 0 || others.size > 0) {
  const found = measured.length === 0 ? 'no version' : [...others].join(', ')
  console.error(
    `docs/performance.md has figures of ${found}, and this is ${version}: run npm run bench -- --publish`,
  )
  process.exitCode = 1
}
