// Lets a plain Node process run the package from source: `#hmac` is a built file in package.json.
import { registerHooks } from 'node:module'

const hmac = new URL('../../src/signature/hmac/node.ts', import.meta.url).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '#hmac' ? { url: hmac, shortCircuit: true } : next(specifier, context),
})
