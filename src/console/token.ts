// Every change made by the console must carry the token of its page. The same
// token lies in a cookie, so that any process of an app can check it and none has to remember it.

/** The header that carries the token. */
const tokenHeader = 'x-console-token'

const form = /^[A-Za-z0-9_-]{32,64}$/

/** The token that a browser has, or a new one. */
export function tokenOf(request: Request): { readonly token: string; readonly fresh: boolean } {
  const known = cookieOf(request)
  if (known !== undefined) return { token: known, fresh: false }
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  const text = btoa(String.fromCharCode(...bytes))
  return { token: text.replaceAll('+', '-').replaceAll('/', '_'), fresh: true }
}

/** The header that hands a new token to a browser: for this site alone, out of reach of scripts. */
export function tokenCookie(request: Request, token: string): string {
  const secure = new URL(request.url).protocol === 'https:' ? '; Secure' : ''
  return `${cookieName(request)}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}`
}

/** Whether a request brings the token of its own page. */
export function bringsToken(request: Request): boolean {
  const known = cookieOf(request)
  return known !== undefined && request.headers.get(tokenHeader) === known
}

/** Cookies are shared by all ports of a host, so each port has a name of its own. */
function cookieName(request: Request): string {
  const host = request.headers.get('host') ?? new URL(request.url).host
  return `idv-console-${/:(\d+)$/.exec(host)?.[1] ?? 'default'}`
}

function cookieOf(request: Request): string | undefined {
  const name = cookieName(request)
  for (const part of (request.headers.get('cookie') ?? '').split(';')) {
    const at = part.indexOf('=')
    const value = part.slice(at + 1).trim()
    if (part.slice(0, at).trim() === name && form.test(value)) return value
  }
  return undefined
}
