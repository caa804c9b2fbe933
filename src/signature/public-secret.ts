// The one public secret: captures are signed with it, and tests configure it.
import { warn } from '../foundation/warn.ts'
import { isDevelopment } from '../host/runtime.ts'

/** Signs captures and, by default, test deliveries. It is a valid key for every scheme. */
export const testSecret = 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00'

/** Warns of a receiver in production that takes it: whoever has this package could sign. */
export function warnIfPublic(secrets: unknown): void {
  const values = [secrets].flat().map((one) => (one as { value?: unknown } | null)?.value ?? one)
  if (!values.includes(testSecret) || isDevelopment()) return
  const message =
    'a receiver takes the public testSecret: anyone can sign deliveries with it. Leave it out in production'
  warn(message, 'SECRET_PUBLIC')
}
