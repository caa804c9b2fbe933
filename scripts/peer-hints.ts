// A plugin of the build: a CommonJS door whose optional peer is not installed says how to install it.
// (Node's own message about an ES module that is missing names the package that asked for it.)
import { readFileSync, writeFileSync } from 'node:fs'
import type { Options } from 'tsup'

type Plugin = NonNullable<Options['plugins']>[number]

/** `peers` maps a package to what is installed for its door. */
export function peerHints(peers: Readonly<Record<string, string>>): Plugin {
  const names = Object.keys(peers).join('|')
  const required = new RegExp(`\\brequire\\((["'])(${names})\\1\\)`, 'g')
  return {
    name: 'peer-hints',
    // Chunks become CommonJS after all plugins have seen them, so the written files are changed.
    buildEnd({ writtenFiles }) {
      for (const { name: file } of writtenFiles.filter(({ name }) => name.endsWith('.cjs'))) {
        const code = readFileSync(file, 'utf8')
        const hinted = code.replace(required, (call, _, name) => tried(call, peers[name] ?? name))
        if (hinted !== code) writeFileSync(file, hinted)
      }
    },
  }
}

/** Bundlers treat a require inside try as optional. */
function tried(call: string, packages: string): string {
  const message = `this door of idv-webhooks needs packages that are not installed: npm install ${packages}`
  return `(() => {
  try {
    return ${call};
  } catch (cause) {
    if (cause?.code !== "MODULE_NOT_FOUND") throw cause;
    throw Object.assign(new Error(${JSON.stringify(message)}, { cause }), { code: cause.code });
  }
})()`
}
