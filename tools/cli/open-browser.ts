// Opens an address in the user's browser; whoever has none loses nothing by it.
import { spawn } from 'node:child_process'
import type { Session } from './session.ts'

/** `BROWSER` names the program, as elsewhere; `none` opens nothing. */
export function openBrowser({ env }: Pick<Session, 'env'>, url: string): void {
  if (env.BROWSER === 'none') return
  const [command = '', ...rest] = commandOf(env.BROWSER)
  const child = spawn(command, [...rest, url], { stdio: 'ignore', detached: true })
  // The address is printed as well.
  child.on('error', () => {})
  child.unref()
}

function commandOf(browser: string | undefined): string[] {
  if (browser) return [browser]
  if (process.platform === 'darwin') return ['open']
  return process.platform === 'win32' ? ['explorer'] : ['xdg-open']
}
