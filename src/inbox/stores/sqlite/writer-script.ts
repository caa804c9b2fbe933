// Where the file of the writer's thread is: beside the file that this code is in.
import { existsSync } from 'node:fs'
import { WebhookError } from '../../../foundation/errors.ts'

const name = 'sqlite-writer'

/**
 * The file's name is put together at run time: a bundler that finds it in a `new URL` would copy
 * that one file without what it imports.
 *
 * @throws WebhookError `STORE_UNSUITABLE` in a program that was bundled into one file
 */
export function writerScript(): URL {
  const here: unknown = import.meta.url
  if (typeof here === 'string' && here.startsWith('file:')) {
    const extension = here.slice(here.lastIndexOf('.') + 1)
    for (const one of [extension, 'js']) {
      const script = new URL([`./${name}`, one].join('.'), here)
      if (existsSync(script)) return script
    }
  }
  throw new WebhookError(
    'STORE_UNSUITABLE',
    `the file ${name}.js of idv-webhooks is missing, as in a program bundled into one file: leave the package out of the bundle (esbuild: --external:idv-webhooks; Next.js: serverExternalPackages: ['idv-webhooks'] in next.config; Rollup, Vite: external: [/^idv-webhooks/])`,
  )
}
