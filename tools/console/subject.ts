// The page on which a subject completes a verification: one step at a time, made for a phone, without
// a script. `html` escapes whatever a person gave; the style is allowed by its hash.
import { createHash } from 'node:crypto'
import { html, raw } from 'hono/html'
import { htmlResponse } from './page.ts'

interface StepField {
  readonly label: string
  readonly kind: 'text' | 'email' | 'tel' | 'date' | 'choice' | 'check'
  readonly choices?: readonly string[]
  readonly autocomplete?: string
}

interface StepForm {
  readonly title: string
  readonly text: string
  /** Each key is the name under which the data of the step holds the field's value. */
  readonly fields: Readonly<Record<string, StepField>>
}

const step = (title: string, text: string, fields: StepForm['fields']): StepForm => {
  return { title, text, fields }
}
const line = (label: string, autocomplete = 'off') => {
  return { label, kind: 'text', autocomplete } as const
}
const check = (label: string) => ({ label, kind: 'check' }) as const
const choice = (label: string, ...choices: readonly string[]) => {
  return { label, kind: 'choice', choices } as const
}

const forms: Readonly<Record<string, StepForm>> = {
  document: step('Your document', 'Have your passport, driving licence or identity card ready.', {
    type: choice('Kind of document', 'passport', 'drivers_license', 'identity_card'),
    number: line('Document number'),
    validUntil: { label: 'Valid until', kind: 'date' },
  }),
  person: step('About you', 'As shown in your document.', {
    fullName: line('Full name', 'name'),
    dateOfBirth: { label: 'Date of birth', kind: 'date', autocomplete: 'bday' },
  }),
  location: step('Where you are', 'Your home address.', {
    addressLine1: line('Street and number', 'address-line1'),
    city: line('City', 'address-level2'),
  }),
  contact: step('How to reach you', 'We write to you only about this verification.', {
    email: { label: 'Email address', kind: 'email', autocomplete: 'email' },
    phone: { label: 'Telephone', kind: 'tel', autocomplete: 'tel' },
  }),
  biometric_face: step('Your face', 'The sandbox uses no camera: tick the box instead.', {
    pictureTaken: check('I have taken the picture of my face'),
  }),
  business: step('Your business', 'The business you represent.', {
    name: line('Business name', 'organization'),
    registrationNumber: line('Registration number'),
  }),
  pep_hio: step('Public offices', 'Do you, or did you, hold a prominent public office?', {
    publicOffice: choice('Public office', 'no', 'yes'),
  }),
  financial: step('Your finances', 'The source of the money that you will use.', {
    sourceOfFunds: choice(
      'Source of funds',
      'salary',
      'savings',
      'business',
      'inheritance',
      'other',
    ),
  }),
  consent: step('Your consent', 'We cannot verify you without it.', {
    agreed: check('I agree that my details are used to verify my identity'),
  }),
  attestation: step('Your word', 'Please review your details.', {
    truthful: check('Everything I entered is true'),
    signature: line('Your name, as a signature', 'name'),
  }),
  estate: step('The estate', 'The details of this verification.', {
    property: line('Property or estate'),
  }),
}

const fieldsOf = (name: string) => Object.entries(forms[name]?.fields ?? {})

const maxLength = 200

const rules: Readonly<Record<string, readonly [RegExp, string]>> = {
  email: [/^\S+@\S+\.\S+$/, 'Please give an email address'],
  date: [/^\d{4}-\d\d-\d\d$/, 'Please give a date'],
}

export function faultsIn(step: string, given: URLSearchParams): Readonly<Record<string, string>> {
  const faultOf = (name: string, { kind, choices }: StepField) => {
    const value = given.get(name)?.trim() ?? ''
    const [pattern, fault] = rules[kind] ?? []
    if (value === '') return kind === 'check' ? 'Please tick this' : 'Please fill this in'
    if (pattern?.test(value) === false) return fault
    if (choices?.includes(value) === false) return 'Please choose one'
    return value.length > maxLength ? `Please use at most ${maxLength} characters` : undefined
  }
  return Object.fromEntries(
    fieldsOf(step).flatMap(([name, field]) => {
      const fault = faultOf(name, field)
      return fault === undefined ? [] : [[name, fault]]
    }),
  )
}

/** The submitted values by field name; a checked box is true. Other fields are left out. */
export function givenIn(step: string, given: URLSearchParams) {
  return Object.fromEntries(
    fieldsOf(step).map(([name, { kind }]) => [
      name,
      kind === 'check' || (given.get(name)?.trim() ?? ''),
    ]),
  )
}

interface SubjectView {
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
  const back = returnUrl && html`<p><a href="${returnUrl.href}">Return to ${returnUrl.host}</a></p>`
  return pageOf(html`<p class="who">${company}</p>${content}${back ?? ''}`, faults ? 422 : 200)
}

export function messageResponse(message: string, status: number): Response {
  return pageOf(html`<h1>${message}</h1>`, status)
}

function stepOf(view: SubjectView, name: string) {
  const { steps } = view
  const { title, text } = forms[name] ?? { title: name, text: '' }
  const nth = steps.filter(({ done }) => done).length + 1
  const words = `Step ${nth} of ${steps.length}`
  return html`<h1>${title}</h1>
<p class="words">${text}</p>
<p class="progress"><span>${words}</span><progress max="${steps.length}" value="${nth}" aria-label="${words}"></progress></p>
<form method="post" novalidate>
<input type="hidden" name="step" value="${name}">
<input type="hidden" name="filled" value="yes">
${fieldsOf(name).map(([field, one]) => fieldOf(field, one, view))}
<button>${nth === steps.length ? 'Submit' : 'Continue'}</button>
</form>
<details><summary>For testing</summary>
<form method="post"><input type="hidden" name="step" value="all">
<button class="quiet">Complete all steps at once</button></form></details>`
}

function fieldOf(name: string, field: StepField, { given, faults }: SubjectView) {
  const { label, kind, choices = [], autocomplete = 'off' } = field
  const fault = faults?.[name]
  const value = given?.get(name) ?? ''
  const marks = raw(fault ? ` aria-invalid="true" aria-describedby="f-${name}-w"` : '')
  const common = html`id="f-${name}" name="${name}"${marks}`
  const wrong = fault ? html`<p class="wrong" id="f-${name}-w">${fault}</p>` : ''
  if (kind === 'check') {
    return html`<div class="field"><label class="check"><input type="checkbox" value="yes" ${common}${value && ' checked'}> ${label}</label>${wrong}</div>`
  }
  const options = choices.map(
    (one) => html`<option value="${one}"${one === value ? ' selected' : ''}>${words(one)}</option>`,
  )
  const input =
    kind === 'choice'
      ? html`<select ${common}><option value="">Please choose</option>${options}</select>`
      : html`<input type="${kind}" value="${value}" autocomplete="${autocomplete}" maxlength="${maxLength}" ${common}>`
  return html`<div class="field"><label for="f-${name}">${label}</label>${input}${wrong}</div>`
}

const words = (name: string) => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')

const endings: Readonly<Record<string, readonly [title: string, text: string]>> = {
  submitted: ['Thank you', 'We have received everything. There is nothing more to do.'],
  pending_review: ['Thank you', 'Your details are being reviewed.'],
  approved: ['You are verified', 'You may close this page.'],
  rejected: ['This verification was rejected', 'Please ask who invited you.'],
  canceled: ['This verification was canceled', 'Please ask who invited you.'],
  expired: ['This link has expired', 'Please ask who invited you for a new one.'],
}

function ended({ status, steps }: SubjectView) {
  const [title, text] = endings[status] ?? ['Thank you', '']
  return html`<h1>${title}</h1><p class="words">${text}</p>
<p class="status">Status: <strong>${status.replaceAll('_', ' ')}</strong></p>
<ul>${steps.map(({ name, done }) => html`<li>${done ? '✓' : '○'} ${forms[name]?.title ?? name}</li>`)}</ul>`
}

function pageOf(content: unknown, status: number): Response {
  const response = htmlResponse({
    title: 'Identity verification (sandbox)',
    head: html`<style>${raw(subjectStyle)}</style>`,
    body: html`<main>${content}</main><footer>This is a sandbox: it verifies no identities.</footer>`,
    status,
  })
  response.headers.set('content-security-policy', policy)
  response.headers.set('cache-control', 'no-store')
  return response
}
