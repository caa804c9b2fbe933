// Tells a scheme from what people pass by mistake.
import { invalid, shown } from '../foundation/check.ts'
import type { Scheme } from './scheme-definition.ts'

/** @throws WebhookError `SCHEME_INVALID` for what no builder of schemes made */
export function checkScheme(scheme: Scheme): void {
  if (Array.isArray(scheme?.template)) return
  throw invalid(
    `scheme must be created with schemes.define() or another builder of schemes, got ${shown(scheme)}${hintFor(scheme)}`,
    'SCHEME_INVALID',
  )
}

/** The name of a builder, or a builder that was not called, instead of what it returns. */
function hintFor(scheme: unknown): string {
  if (typeof scheme === 'function') return ': call it, e.g. schemes.service()'
  const name = builders.find((one) => one === scheme)
  return name === undefined ? '' : `: pass schemes.${name}(${name === 'service' ? '' : '{ … }'})`
}

const builders = ['service', 'timestamped', 'standardWebhooks', 'token', 'ip', 'define']
