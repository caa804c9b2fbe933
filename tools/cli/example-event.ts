// Example events for send: the service's fixtures, or those of a vendor's preset in its own shape.
import { suggestion } from '../../src/foundation/check.ts'
import { canonicalName, eventNames, legacyNames } from '../../src/protocol/index.ts'
import { type FixtureName, fixture } from '../../src/testing/index.ts'
import { inDialect, namesInDialect } from '../../src/vendors/dialect.ts'
import type { Vendor } from '../../src/vendors/index.ts'
import { CliError } from './exit-code.ts'
import { printable } from './output.ts'

/**
 * Makes a new event of a name at each call, of its own entity: an inbox keeps the events of one
 * waiting behind one of them that failed.
 *
 * @throws CliError `EVENT_NAME_UNKNOWN`
 */
export function exampleMaker(event: string, vendor: Vendor | undefined): (now: Date) => unknown {
  return vendor ? ofVendor(event, vendor) : ofService(event)
}

function ofService(event: string) {
  const known: readonly string[] = [...eventNames, ...legacyNames]
  if (!known.includes(event)) {
    const hint = suggestion(event, known) || ' See --help for all names.'
    throw new CliError('EVENT_NAME_UNKNOWN', `unknown event '${printable(event)}'.${hint}`)
  }
  return (now: Date) => {
    const createdAt = now.toISOString()
    return fixture(event as FixtureName, { ...fresh(), createdAt })
  }
}

function ofVendor(event: string, vendor: Vendor) {
  const name = canonicalName(event)
  const known = namesInDialect(vendor)
  if (!known.includes(name)) {
    throw new CliError(
      'EVENT_NAME_UNKNOWN',
      `vendors.${vendor.name} has no example of '${printable(event)}', only of ${known.join(', ')}: pass another body with --file`,
    )
  }
  return (now: Date) => inDialect(vendor, { ...fresh(), name, occurredAt: now })
}

const fresh = () => ({ id: `evt_${crypto.randomUUID()}`, data: { id: crypto.randomUUID() } })
