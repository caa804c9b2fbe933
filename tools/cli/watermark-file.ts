// A watermark in a file, written atomically.
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Watermark, WatermarkStore } from '../../src/client/index.ts'
import { CliError } from './exit-code.ts'
import type { Session } from './session.ts'
import { writeWhole } from './write-file.ts'

export function watermarkFile({ cwd }: Session, file: string): WatermarkStore {
  const path = resolve(cwd, file)
  return {
    read() {
      if (!existsSync(path)) return undefined
      try {
        return JSON.parse(readFileSync(path, 'utf8')) as Watermark
      } catch {
        const message = `${file} is not a watermark: delete it and pass --since`
        throw new CliError('WATERMARK_INVALID', message)
      }
    },
    write(watermark) {
      writeWhole(path, `${JSON.stringify(watermark, null, 2)}\n`)
    },
  }
}
