// node:sqlite on a disk that hangs: no commit ends while there is a file of that name.
import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const pause = new Int32Array(new SharedArrayBuffer(4))

// biome-ignore lint/style/noDefaultExport: a driver is a module's default export
export default class HangingDatabase extends DatabaseSync {
  readonly #hangs: string

  constructor(file: string) {
    super(file)
    this.#hangs = `${file}-hangs`
  }

  override exec(sql: string): void {
    while (sql === 'commit' && existsSync(this.#hangs)) Atomics.wait(pause, 0, 0, 5)
    super.exec(sql)
  }
}
