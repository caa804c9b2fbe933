// A plugin of the build: what a CommonJS door loads later, it requires. Jest runs CommonJS in a context
// of its own, where import() works behind a flag alone.
import type { Options } from 'tsup'

type Plugin = NonNullable<Options['plugins']>[number]

const ownImport = /\bimport\((["'](?:\.\/|#|node:)[^"']+["'])\)/g

/** A CommonJS package, of which import() gives `default`. */
const packageImport = /\bimport\((["']raw-body["'])\)/g

export const lazyRequire: Plugin = {
  name: 'lazy-require',
  renderChunk(code, { path }) {
    if (!path.endsWith('.cjs')) return undefined
    return {
      code: code
        .replace(ownImport, 'Promise.resolve().then(() => require($1))')
        .replace(packageImport, 'Promise.resolve().then(() => ({ default: require($1) }))'),
    }
  },
}
