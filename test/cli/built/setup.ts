// The command line is tested as it ships.
import { existsSync } from 'node:fs'
import { cli } from './run.ts'

export function setup(): void {
  if (!existsSync(cli)) throw new Error('there is no dist/cli.js to test: run npm run build first')
}
