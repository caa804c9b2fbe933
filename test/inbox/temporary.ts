// Folders for databases, removed when the test is over.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'idv-inbox-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

export const temporaryFile = (): string => join(temporaryFolder(), 'inbox.db')
