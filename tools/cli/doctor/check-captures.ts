// The check of captured deliveries: which preset, or which scheme, verifies what a sender really sent.
import type { Scheme } from '../../../src/index.ts'
import type { NamedCapture } from '../capture-files.ts'
import { count } from '../output.ts'
import { presetsFor } from '../presets.ts'
import { provesBy } from '../proves-by.ts'
import type { NamedSecret } from '../secrets.ts'
import type { Check } from './local-checks.ts'

/** Which preset, or else the chosen scheme, verifies captured deliveries. */
export async function checkCaptures(
  captures: readonly NamedCapture[],
  secrets: readonly NamedSecret[],
  scheme: Scheme,
): Promise<Check> {
  const name = 'captures'
  const exact = captures.filter(({ redacted }) => !redacted)
  if (exact.length === 0) {
    return { name, state: 'warning', message: 'all are redacted: record with capture --raw' }
  }
  const trial = { captures: exact, secrets }
  const many = count(exact.length, 'capture')
  const proved = await Promise.all(exact.map((one) => provesBy(scheme, one, trial)))
  const isProved = proved.every(Boolean)
  const presets = (await presetsFor(trial)).map((preset) => preset.name).join(', ')
  if (presets !== '') {
    const other = isProved ? '' : `; --scheme ${scheme.name} does not`
    return { name, state: 'ok', message: `${presets}: verifies ${many}${other}` }
  }
  if (isProved) {
    return {
      name,
      state: 'ok',
      message: `the scheme ${scheme.name} verifies ${many}, no preset does`,
    }
  }
  const message = `neither the scheme ${scheme.name} nor a preset verifies ${many}: check the secret, then run discover`
  return { name, state: 'failed', message }
}
