// Over `fetch` the console sees no address, and whoever reaches its port can write the headers of
// this machine. So whoever asks brings a key that only the process's own terminal shows.
import { show } from '../../src/foundation/warn.ts'
import { cookieHeader, cookieOf, randomText } from './cookies.ts'
import { ConsoleRefusal } from './refusal.ts'

const kind = 'idv-console-key'
const parameter = 'key'

// On the global object, for an edit under a development server loads this module again.
const place = Symbol.for('idv-webhooks.console-key')
const shared = globalThis as { [place]?: { readonly key: string; shownAt: number } }

/** Milliseconds between two showings of the key, which anyone on the network can cause. */
const pause = 10_000

/**
 * Lets in who brings the key: undefined where a cookie holds it, and a redirect that sets the cookie
 * where the address does. A page that is asked for without it makes the process show the key.
 *
 * @throws ConsoleRefusal 403 `KEY_MISSING`
 */
export function admitByKey(
  request: Request,
  { base, isPage, now }: { readonly base: string; readonly isPage: boolean; readonly now: number },
): Response | undefined {
  shared[place] ??= { key: randomText(), shownAt: -pause }
  const own = shared[place]
  if (isSame(cookieOf(request, kind), own.key)) return undefined
  const url = new URL(request.url)
  if (isPage && isSame(url.searchParams.get(parameter), own.key)) {
    url.searchParams.delete(parameter)
    // A framework may have taken the path of the mount away.
    const headers = { location: (base || '/') + url.search }
    const response = new Response(null, { status: 303, headers })
    response.headers.append('set-cookie', cookieHeader(request, kind, own.key))
    return response
  }
  if (isPage && now - own.shownAt >= pause) {
    own.shownAt = now
    // Without a host: whoever asked wrote it, and the key would go where that leads.
    const path = `${base || '/'}?${parameter}=${own.key}`
    show(`inboxConsole: to look into the inbox, open ${path} on your own server`, 'CONSOLE_KEY')
  }
  const message =
    'Open the console by the path with a key that its process has printed in the terminal'
  throw new ConsoleRefusal(403, 'KEY_MISSING', message)
}

/** Compares all of it, for the time of a comparison that stops early tells where. */
function isSame(given: string | null | undefined, key: string): boolean {
  if (given?.length !== key.length) return false
  let difference = 0
  for (let at = 0; at < key.length; at++) difference |= given.charCodeAt(at) ^ key.charCodeAt(at)
  return difference === 0
}
