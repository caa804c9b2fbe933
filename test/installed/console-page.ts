// The console as its operators open it, behind a proxy that names them.
import { expect } from 'vitest'

/** The console's page and script, for the users that the proxy names and for no others. */
export async function pageAt(url: string) {
  const headers = { 'x-forwarded-user': 'grace' }
  expect((await fetch(url)).status).toBe(403)
  const page = await fetch(url, { headers })
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  const html = (await page.text()).replaceAll('&quot;', '"')
  const [, file] = /src="([^"]+)"/.exec(html) ?? []
  const script = await fetch(new URL(file ?? '', url), { headers })
  expect(script.headers.get('content-type')).toMatch(/javascript/)
  const ask = async (path: string) => (await fetch(`${url}/api${path}`, { headers })).json()
  return { headers, page, html, ask }
}
