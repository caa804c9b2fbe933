// Makes a sandbox from a user's options: checks them, opens the data file, chooses the seed.
import { defined } from '../../src/foundation/defined.ts'
import { encode } from '../../src/signature/encoding.ts'
import { checkOptions, checkSameStart, type SandboxOptions } from './options.ts'
import { LocalSandbox, type Sandbox } from './sandbox.ts'
import { savedIn } from './saved-state.ts'
import { readScenario, runScenario, withScenario } from './scenario.ts'

/**
 * The whole service in a box: its HTTP API, its signed events, and a control plane to act on both.
 *
 * @throws WebhookError `OPTION_INVALID`, `DATA_FILE_FAILED`, `SCENARIO_INVALID`, `SCENARIO_FAILED`
 * @example
 * const sandbox = await createSandbox({ seed: 1, subscriptions: [{ url: 'http://127.0.0.1:3000/' }] })
 * await sandbox.fetch(new Request(`${sandbox.baseUrl}/verifications`, { … }))
 * await sandbox.flush()
 */
export async function createSandbox(given: SandboxOptions = {}): Promise<Sandbox> {
  const scenario = given.scenario && readScenario(given.scenario)
  const chosen = scenario ? withScenario(given, scenario) : given
  const options = defined(chosen)
  checkOptions(options)
  const sandbox = await open(options)
  if (!scenario) return sandbox
  try {
    await runScenario(sandbox, scenario)
    return sandbox
  } catch (error) {
    await sandbox.close()
    throw error
  }
}

async function open(options: SandboxOptions): Promise<Sandbox> {
  const { data } = options
  const file =
    data === undefined ? undefined : (await import('./data-file.ts')).openDataFile(data, savedIn)
  try {
    const saved = file && savedIn(file)
    if (saved) checkSameStart(options, saved)
    const seed = saved?.snapshot.seed ?? options.seed ?? randomSeed()
    return new LocalSandbox({ options: { ...options, seed }, file, saved })
  } catch (error) {
    file?.close()
    throw error
  }
}

/** A new one each time; it is shown, so that a run can be repeated. */
function randomSeed(): string {
  return encode(crypto.getRandomValues(new Uint8Array(8)), 'hex')
}
