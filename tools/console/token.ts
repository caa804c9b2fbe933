// Every change made by the console must carry the token of its page. The same
// token lies in a cookie, so that any process of an app can check it and none has to remember it.
import { cookieHeader, cookieOf, randomText } from './cookies.ts'

/** The header that carries the token. */
const tokenHeader = 'x-console-token'

const kind = 'idv-console'

/** The token that a browser has, or a new one. */
export function tokenOf(request: Request): { readonly token: string; readonly fresh: boolean } {
  const known = cookieOf(request, kind)
  if (known !== undefined) return { token: known, fresh: false }
  return { token: randomText(), fresh: true }
}

/** The header that hands a new token to a browser. */
export function tokenCookie(request: Request, token: string): string {
  return cookieHeader(request, kind, token)
}

/** Whether a request brings the token of its own page. */
export function bringsToken(request: Request): boolean {
  const known = cookieOf(request, kind)
  return known !== undefined && request.headers.get(tokenHeader) === known
}
