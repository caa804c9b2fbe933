// A plain page without scripts, under a strict content security policy.

const style = `body{font:16px/1.5 system-ui;max-width:60rem;margin:3rem auto;padding:0 1rem}
main{max-width:60rem}li{margin:.5rem 0}pre{overflow:auto;background:#8881;padding:.75rem}
td{padding:.15rem .75rem .15rem 0;vertical-align:top}`

/** `frame-ancestors`: no other site may show the page inside its own and guide clicks to it. */
const policy =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

/** `content` is HTML: whatever comes from outside must be escaped. */
export function htmlPage(content: string, status = 200): Response {
  const html = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Identity verification (sandbox)</title>
<style>${style}</style>
<main>${content}</main></html>`
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
    },
  })
}

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
