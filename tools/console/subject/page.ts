// The subject's page as HTML: one step at a time, made for a phone, without a script. Everything that
// a person gave is escaped; the style is allowed by its hash.
import { createHash } from 'node:crypto'
import { longest, type StepField, type StepForm, stepForms } from './steps.ts'

/** The data of a verification that the page shows. */
export interface SubjectView {
  readonly company: string
  readonly status: string
  readonly steps: readonly { readonly name: string; readonly done: boolean }[]
  /** True if the subject may still enter something. */
  readonly open: boolean
  /** The submitted values that were rejected. */
  readonly given?: URLSearchParams
  readonly faults?: Readonly<Record<string, string>>
  /** The web address that the subject came from. */
  readonly returnUrl?: URL | undefined
}

/** A phone first, and two themes by the system's choice. */
const subjectStyle = `
:root{color-scheme:light dark;--bg:#f7f7f5;--surface:#fff;--text:#1d2024;--muted:#5b626c;--line:#8d939c;--accent:#2f54c4;--on:#fff;--bad:#ad2317}
@media (prefers-color-scheme:dark){:root{--bg:#131518;--surface:#1a1d21;--text:#e7e9ec;--muted:#a1a8b3;--line:#6c7580;--accent:#93b1ff;--on:#0f1a3a;--bad:#ff9d92}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:flex;flex-direction:column;background:var(--bg);color:var(--text);font:1rem/1.5 ui-sans-serif,system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:30rem;margin:0 auto;padding:2rem 1.25rem;flex:1}
.who{margin:0 0 1.5rem;font-weight:600;color:var(--muted)}
h1{margin:0;font-size:1.5rem;line-height:1.25;letter-spacing:-.01em}
.words{margin:.5rem 0 1.25rem;color:var(--muted)}
.progress{display:grid;gap:.35rem;margin:0 0 1.5rem;font-size:.875rem;color:var(--muted)}
progress{width:100%;height:6px;accent-color:var(--accent)}
form{display:grid;gap:1.1rem}
.field{display:grid;gap:.3rem}
label{font-weight:550}
.check{display:flex;gap:.75rem;align-items:flex-start;font-weight:400;padding:.75rem;border:1px solid var(--line);border-radius:10px;background:var(--surface)}
.check input{width:1.25rem;height:1.25rem;min-height:0;margin:.1rem 0 0;flex:none;accent-color:var(--accent)}
input,select{width:100%;min-height:48px;padding:.5rem .75rem;border:1px solid var(--line);border-radius:10px;background:var(--surface);color:var(--text);font:inherit}
[aria-invalid]{border-color:var(--bad);box-shadow:0 0 0 1px var(--bad)}
.wrong{margin:0;color:var(--bad);font-size:.9rem}
.wrong::before{content:"✕ "}
button{min-height:50px;border:0;border-radius:10px;background:var(--accent);color:var(--on);font:inherit;font-weight:600;cursor:pointer}
button.quiet{background:none;border:1px solid var(--line);color:var(--text)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
details{margin-top:2.5rem;color:var(--muted);font-size:.9rem}
details form{margin-top:.75rem}
ul{list-style:none;padding:0;display:grid;gap:.35rem}
footer{padding:1.25rem;text-align:center;color:var(--muted);font-size:.8rem}
`

const styleHash = createHash('sha256').update(subjectStyle).digest('base64')
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`

/** The page with one step to fill in, or with what has become of it. */
export function subjectResponse(view: SubjectView): Response {
  const { company, faults, returnUrl } = view
  const current = view.steps.find(({ done }) => !done)
  const content = view.open && current ? stepOf(view, current.name) : ended(view)
  const status = faults ? 422 : 200
  const back = returnUrl
    ? `<p><a href="${escaped(returnUrl.href)}">Return to ${escaped(returnUrl.host)}</a></p>`
    : ''
  return htmlResponse(`<p class="who">${escaped(company)}</p>${content}${back}`, status)
}

/** A page that only says something. */
export function messageResponse(message: string, status: number): Response {
  return htmlResponse(`<h1>${escaped(message)}</h1>`, status)
}

function stepOf(view: SubjectView, name: string): string {
  const { steps } = view
  const done = steps.filter((one) => one.done).length
  const form: StepForm = stepForms[name] ?? { title: name, words: '', fields: [] }
  const last = done === steps.length - 1
  return `<h1>${escaped(form.title)}</h1>
<p class="words">${escaped(form.words)}</p>
${progress(done, steps.length)}
<form method="post" novalidate>
<input type="hidden" name="step" value="${escaped(name)}">
<input type="hidden" name="filled" value="yes">
${form.fields.map((one) => fieldOf(one, view)).join('\n')}
<button>${last ? 'Submit' : 'Continue'}</button>
</form>
<details><summary>For testing</summary>
<form method="post"><input type="hidden" name="step" value="all">
<button class="quiet">Complete all steps at once</button></form></details>`
}

function progress(done: number, all: number): string {
  const words = `Step ${done + 1} of ${all}`
  return `<p class="progress"><span>${words}</span><progress max="${all}" value="${done + 1}" aria-label="${words}"></progress></p>`
}

function fieldOf(one: StepField, { given, faults }: SubjectView): string {
  const { name, label, kind } = one
  const fault = faults?.[name]
  const id = `f-${name}`
  const marks = fault ? ` aria-invalid="true" aria-describedby="${id}-w"` : ''
  const wrong = fault ? `<p class="wrong" id="${id}-w">${escaped(fault)}</p>` : ''
  const value = given?.get(name) ?? ''
  if (kind === 'check') {
    const on = value ? ' checked' : ''
    return `<div class="field"><label class="check"><input type="checkbox" id="${id}" name="${name}" value="yes"${on}${marks}> ${escaped(label)}</label>${wrong}</div>`
  }
  const common = `id="${id}" name="${name}"${marks}`
  const input = kind === 'choice' ? choice(one, common, value) : text(one, common, value)
  return `<div class="field"><label for="${id}">${escaped(label)}</label>${input}${wrong}</div>`
}

function choice({ choices = {} }: StepField, common: string, value: string): string {
  const options = Object.entries(choices).map(
    ([one, word]) =>
      `<option value="${one}"${one === value ? ' selected' : ''}>${escaped(word)}</option>`,
  )
  return `<select ${common}><option value="">Please choose</option>${options.join('')}</select>`
}

function text({ kind, autocomplete }: StepField, common: string, value: string): string {
  return `<input type="${kind}" ${common} value="${escaped(value)}" autocomplete="${autocomplete ?? 'off'}" maxlength="${longest}">`
}

const endings: Readonly<Record<string, readonly [string, string]>> = {
  submitted: ['Thank you', 'We have received everything. There is nothing more to do.'],
  pending_review: ['Thank you', 'Your details are being reviewed.'],
  approved: ['You are verified', 'You may close this page.'],
  rejected: ['This verification was rejected', 'Please ask who invited you.'],
  canceled: ['This verification was canceled', 'Please ask who invited you.'],
  expired: ['This link has expired', 'Please ask who invited you for a new one.'],
}

function ended({ status, steps }: SubjectView): string {
  const [title, words] = endings[status] ?? ['Thank you', '']
  const items = steps.map(
    ({ name, done }) => `<li>${done ? '✓' : '○'} ${escaped(stepForms[name]?.title ?? name)}</li>`,
  )
  return `<h1>${escaped(title)}</h1><p class="words">${escaped(words)}</p>
<p class="status">Status: <strong>${escaped(status.replaceAll('_', ' '))}</strong></p>
<ul>${items.join('')}</ul>`
}

function htmlResponse(content: string, status: number): Response {
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Identity verification (sandbox)</title><style>${subjectStyle}</style></head>
<body><main>${content}</main><footer>Sandbox: nobody’s identity is really verified here.</footer></body></html>`
  return new Response(html, {
    status,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    },
  })
}

function escaped(value: string): string {
  return value.replaceAll(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`)
}
