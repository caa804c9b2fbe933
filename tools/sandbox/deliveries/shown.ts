// A delivery as it is shown: never with its signature apart from what was sent.
import { defined } from '../../../src/foundation/defined.ts'
import type { DeliveryRow, DeliverySummary, SandboxDelivery } from '../schemas/deliveries.ts'

/** A delivery without its bytes and without measured times. */
export function summary({
  body: _,
  signature: __,
  seq: ___,
  ...row
}: DeliveryRow): DeliverySummary {
  const attempts = row.attempts.map(({ request: _, durationMs: __, response, ...rest }) =>
    defined({ ...rest, status: response?.status }),
  )
  return { ...row, attempts }
}

/** A delivery as a snapshot holds it: measured times would make equal runs differ. */
export function unmeasured(row: DeliveryRow): DeliveryRow {
  return { ...row, attempts: row.attempts.map(({ durationMs: _, ...rest }) => rest) }
}

/** A delivery with every attempt's exact bytes. */
export function details({ signature: _, seq: __, ...row }: DeliveryRow): SandboxDelivery {
  return row
}
