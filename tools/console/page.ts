// The console's document and its two files, under a strict policy: no script, style or request from
// anywhere else, and nothing inline. What the pages show is asked for by their own script.
import type { Context, Next } from 'hono'
import { html } from 'hono/html'
import { tokenOf } from './access.ts'

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
const safeHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** Sets the headers of every response; a cache on the way would show its copy to others. */
export async function setSafeHeaders(context: Context, next: Next): Promise<void> {
  await next()
  const { headers } = context.res
  for (const [name, value] of Object.entries(safeHeaders)) headers.set(name, value)
  if (!headers.has('cache-control')) headers.set('cache-control', 'no-store')
}

/** The document, with the token that every change has to bring back, and its cookie. */
export function pageResponse(config: PageConfig, request: Request): Response {
  const { token, cookie } = tokenOf(request)
  const { base, title } = config
  const head = html`<meta name="idv-console" content="${JSON.stringify({ ...config, token })}">
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${base}/console.css">
<script type="module" src="${base}/console.js"></script>`
  const body = html`<div id="app"></div><noscript>The console needs JavaScript.</noscript>`
  const response = htmlResponse({ title, head, body })
  if (cookie !== undefined) response.headers.append('set-cookie', cookie)
  return response
}

interface HtmlDocument {
  readonly title: string
  readonly head?: unknown
  readonly body: unknown
  readonly status?: number
}

export function htmlResponse({ title, head = '', body, status = 200 }: HtmlDocument): Response {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body>${body}</body>
</html>`
  const headers = { ...safeHeaders, 'content-type': 'text/html; charset=utf-8' }
  return new Response(String(page), { status, headers })
}

export async function assetResponse(name: string): Promise<Response> {
  // Loaded when first asked for: a sandbox in a test never is.
  const { loadAssets } = await import('./assets.ts')
  const { script, style } = await loadAssets()
  const [body, type] = name === 'console.js' ? [script, 'javascript'] : [style, 'css']
  const headers = { 'content-type': `text/${type}; charset=utf-8`, 'cache-control': 'no-cache' }
  return new Response(body, { headers })
}

const icon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#3257c8"/><path d="M4 8.5l2.6 2.6L12 5.6" stroke="#fff" stroke-width="2" fill="none" stroke-linecap="round" stroke-linejoin="round"/></svg>',
)}`
