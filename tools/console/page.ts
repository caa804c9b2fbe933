// The console's document and its two files, under a strict policy: no script, style or request from
// anywhere else, and nothing inline. What the pages show is asked for by their own script.

/** Configuration that the pages need before their first request. */
export interface PageConfig {
  readonly door: 'sandbox' | 'inbox'
  readonly title: string
  /** The path of the console's own routes, without a slash at the end. */
  readonly base: string
  readonly readOnly: boolean
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

/** Headers of everything that the console answers. */
export const safeHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The document; `token` is what every change has to bring back. */
export function pageResponse(config: PageConfig, token: string): Response {
  const base = escaped(config.base)
  const content = escaped(JSON.stringify({ ...config, token }))
  const head = `<meta name="idv-console" content="${content}">
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${base}/console.css">
<script type="module" src="${base}/console.js"></script>`
  const body = '<div id="app"></div><noscript>The console needs JavaScript.</noscript>'
  return htmlResponse({ title: config.title, head, body })
}

/** The page for a person who is not allowed to see the console. */
export function refusalResponse(message: string, status: number): Response {
  return htmlResponse({ title: message, body: `<h1>${escaped(message)}</h1>`, status })
}

interface Html {
  readonly title: string
  readonly head?: string
  readonly body: string
  readonly status?: number
}

function htmlResponse({ title, head = '', body, status = 200 }: Html): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}</title>
${head}
</head>
<body>${body}</body>
</html>`
  const headers = { ...safeHeaders, 'content-type': 'text/html; charset=utf-8' }
  return new Response(html, { status, headers: { ...headers, 'cache-control': 'no-store' } })
}

/** The script or the style sheet. */
export async function assetResponse(name: string): Promise<Response> {
  // Loaded when first asked for: a sandbox in a test never is.
  const { loadAssets } = await import('./assets.ts')
  const { script, style } = await loadAssets()
  const [body, type] = name === 'console.js' ? [script, 'javascript'] : [style, 'css']
  const headers = { ...safeHeaders, 'content-type': `text/${type}; charset=utf-8` }
  return new Response(body, { headers: { ...headers, 'cache-control': 'no-cache' } })
}

const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3257c8"/><path d="M4 8.5l2.6 2.6L12 5.6" stroke="#fff" stroke-width="2" fill="none" stroke-linecap="round" stroke-linejoin="round"/></svg>',
)}`

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
