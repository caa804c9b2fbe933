// The sandbox's state in a file: one JSON document. Each write replaces the file as a whole, so a
// killed process leaves the last complete one.
import { open, readFile, rename } from 'node:fs/promises'
import { fieldErrors } from '../../src/client/call.ts'
import { reasonOf, WebhookError } from '../../src/errors.ts'
import { type SavedState, savedStateSchema } from './schemas/snapshot.ts'

/** Undefined if it does not exist yet. @throws WebhookError `DATA_FILE_FAILED` */
export async function readDataFile(path: string): Promise<SavedState | undefined> {
  let value: unknown
  try {
    value = JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined
    throw failed(path, cause)
  }
  const read = savedStateSchema.safeParse(value)
  if (read.success) return read.data
  const [first] = fieldErrors(read.error.issues)
  throw failed(path, new Error(`${first?.field || 'it'}: ${first?.message}`))
}

export class DataFile {
  readonly #path: string
  readonly #content: () => SavedState
  #isChanged = false
  #writing: Promise<void> = Promise.resolve()
  #next: Promise<void> | undefined

  /** `content` gives the state at the time of a write. */
  constructor(path: string, content: () => SavedState) {
    this.#path = path
    this.#content = content
  }

  /** Schedules a write of the state. Changes that happen during a write share the next one. */
  change(): void {
    this.#isChanged = true
    // The response to a request reports the error; a change by the clock is written with the next.
    this.saved().catch(() => {})
  }

  /** Resolves when every change is on the disk. @throws WebhookError `DATA_FILE_FAILED` */
  saved(): Promise<void> {
    if (!this.#isChanged) return this.#writing
    this.#next ??= this.#writing.catch(() => {}).then(() => this.#write())
    return this.#next
  }

  #write(): Promise<void> {
    this.#next = undefined
    this.#isChanged = false
    this.#writing = replaceFile(this.#path, JSON.stringify(this.#content())).catch((cause) => {
      this.#isChanged = true
      throw failed(this.#path, cause)
    })
    return this.#writing
  }
}

/** Only its owner can read the file: it holds secrets, API keys and people. */
async function replaceFile(path: string, text: string): Promise<void> {
  const file = await open(`${path}.tmp`, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.tmp`, path)
}

function failed(path: string, cause: unknown): WebhookError {
  const message = `cannot use the data file ${path} (${reasonOf(cause)}): pass a file of a sandbox, or one that does not exist yet`
  return new WebhookError('DATA_FILE_FAILED', message, { cause })
}
