// A plugin of the build: writes dist/THIRD-PARTY-NOTICES.txt, which names every package whose code
// was really bundled, with its licence as it came. Without a licence to show the build fails.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Plugin } from 'esbuild'

const file = 'dist/THIRD-PARTY-NOTICES.txt'
const head = `idv-webhooks is under the licence in its LICENSE file. Its dist folder also holds code of the
packages below, each under the licence that follows its name.
`

/** Collects over every build that it is given to; `types` are packages inlined into declarations. */
export function thirdPartyNotices(types: readonly string[]): Plugin {
  const folders = new Set(types.map((name) => `node_modules/${name}`))
  return {
    name: 'third-party-notices',
    setup(build) {
      build.initialOptions.metafile = true
      build.onEnd(({ metafile }) => {
        const outputs = Object.values(metafile?.outputs ?? {})
        for (const path of outputs.flatMap(({ inputs }) => Object.keys(inputs))) {
          const folder = packageFolder(path)
          if (folder !== undefined) folders.add(folder)
        }
        mkdirSync(dirname(file), { recursive: true })
        writeFileSync(
          file,
          [head, ...[...folders].map(notice).sort()].join(`\n${'-'.repeat(80)}\n\n`),
        )
      })
    },
  }
}

/** The folder of the innermost package that a file belongs to; none for our own. */
function packageFolder(path: string): string | undefined {
  return /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path.replaceAll('\\', '/'))?.[1]
}

function notice(folder: string): string {
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8')
  const { name, version, license } = JSON.parse(manifest) as Record<string, string>
  const texts = readdirSync(folder)
    .filter((one) => /^(licen[cs]e|copying|notice)/i.test(one))
    .sort()
    .map((one) => readFileSync(join(folder, one), 'utf8').replaceAll('\r\n', '\n').trim())
  if (texts.length === 0) {
    throw new Error(`${name} is bundled and brings no licence text: see third-party-notices.ts`)
  }
  return `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`
}
