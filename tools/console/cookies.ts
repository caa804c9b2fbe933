// The secrets that the console's pages keep in a browser: for this site alone, out of reach of
// scripts.

const form = /^[A-Za-z0-9_-]{32,64}$/

/** A random text that fits into a cookie and an address. */
export function randomText(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(24))
  const text = btoa(String.fromCharCode(...bytes))
  return text.replaceAll('+', '-').replaceAll('/', '_')
}

/** The header that hands a secret to a browser. */
export function cookieHeader(request: Request, kind: string, value: string): string {
  const secure = new URL(request.url).protocol === 'https:' ? '; Secure' : ''
  return `${nameOf(request, kind)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}`
}

export function cookieOf(request: Request, kind: string): string | undefined {
  const name = nameOf(request, kind)
  for (const part of (request.headers.get('cookie') ?? '').split(';')) {
    const at = part.indexOf('=')
    const value = part.slice(at + 1).trim()
    if (part.slice(0, at).trim() === name && form.test(value)) return value
  }
  return undefined
}

/** Cookies are shared by all ports of a host, so each port has a name of its own. */
function nameOf(request: Request, kind: string): string {
  const host = request.headers.get('host') ?? new URL(request.url).host
  return `${kind}-${/:(\d+)$/.exec(host)?.[1] ?? 'default'}`
}
