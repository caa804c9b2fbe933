// The form of each step, as data: its fields and their rules. A
// field has the name under which the step's data holds what was given.

/** One thing that the subject fills in. */
export interface StepField {
  readonly name: string
  readonly label: string
  readonly kind: 'text' | 'email' | 'tel' | 'date' | 'choice' | 'check'
  /** Labels of the values. */
  readonly choices?: Readonly<Record<string, string>>
  /** The `autocomplete` attribute. */
  readonly autocomplete?: string
}

export interface StepForm {
  readonly title: string
  readonly words: string
  readonly fields: readonly StepField[]
}

const field = (name: string, label: string, more: Partial<StepField> = {}): StepField => {
  return { name, label, kind: 'text', ...more }
}

const check = (name: string, label: string) => field(name, label, { kind: 'check' })

const choice = (name: string, label: string, choices: Readonly<Record<string, string>>) =>
  field(name, label, { kind: 'choice', choices })

const filled = (name: string, label: string, autocomplete: string) =>
  field(name, label, { autocomplete })

const form = (title: string, words: string, ...fields: readonly StepField[]): StepForm => {
  return { title, words, fields }
}

const documents = {
  passport: 'Passport',
  drivers_license: 'Driving licence',
  identity_card: 'Identity card',
}

const funds = {
  salary: 'Salary',
  savings: 'Savings',
  business: 'Business',
  inheritance: 'Inheritance',
  other: 'Other',
}

/** The form of each step of section 2.1. */
export const stepForms: Readonly<Record<string, StepForm>> = {
  document: form(
    'Your document',
    'Have your passport, driving licence or identity card ready.',
    choice('type', 'Kind of document', documents),
    field('number', 'Document number'),
    field('validUntil', 'Valid until', { kind: 'date' }),
  ),
  person: form(
    'About you',
    'As shown in your document.',
    filled('fullName', 'Full name', 'name'),
    field('dateOfBirth', 'Date of birth', { kind: 'date', autocomplete: 'bday' }),
  ),
  location: form(
    'Where you are',
    'Your home address.',
    filled('addressLine1', 'Street and number', 'address-line1'),
    filled('city', 'City', 'address-level2'),
  ),
  contact: form(
    'How to reach you',
    'We write to you only about this verification.',
    field('email', 'Email address', { kind: 'email', autocomplete: 'email' }),
    field('phone', 'Telephone', { kind: 'tel', autocomplete: 'tel' }),
  ),
  biometric_face: form(
    'Your face',
    'Hold your face in the frame. The sandbox uses no camera: tick the box instead.',
    check('pictureTaken', 'I have taken the picture of my face'),
  ),
  business: form(
    'Your business',
    'The business you represent.',
    filled('name', 'Business name', 'organization'),
    field('registrationNumber', 'Registration number'),
  ),
  pep_hio: form(
    'Public offices',
    'Whether you, or a person close to you, holds or has held a prominent public office.',
    choice('publicOffice', 'Public office', { no: 'No', yes: 'Yes' }),
  ),
  financial: form(
    'Your finances',
    'The source of the money that you will use.',
    choice('sourceOfFunds', 'Source of funds', funds),
  ),
  consent: form(
    'Your consent',
    'We cannot verify you without it.',
    check('agreed', 'I agree that my details are used to verify my identity'),
  ),
  attestation: form(
    'Your word',
    'Please review your details.',
    check('truthful', 'Everything I entered is true'),
    filled('signature', 'Your name, as a signature', 'name'),
  ),
  estate: form(
    'The estate',
    'The details of this verification.',
    field('property', 'Property or estate'),
  ),
}

/** The answers of a subject in one step. */
export type Given = Readonly<Record<string, string | true>>

/** Characters of one field. */
export const longest = 200

/** Faults of a submitted step, by the name of the field. */
export function faultsIn(step: string, given: URLSearchParams): Readonly<Record<string, string>> {
  const faults: Record<string, string> = {}
  for (const { name, kind, choices } of stepForms[step]?.fields ?? []) {
    const value = given.get(name)?.trim() ?? ''
    if (value === '') faults[name] = kind === 'check' ? 'Please tick this' : 'Please fill this in'
    else if (kind === 'email' && !/^\S+@\S+\.\S+$/.test(value)) {
      faults[name] = 'Please give an email address'
    } else if (kind === 'date' && !/^\d{4}-\d\d-\d\d$/.test(value)) {
      faults[name] = 'Please give a date'
    } else if (choices && !Object.hasOwn(choices, value)) faults[name] = 'Please choose one'
    else if (value.length > longest) faults[name] = `Please use at most ${longest} characters`
  }
  return faults
}

/** The submitted values by field name; a checked box is true. Other fields are left out. */
export function givenIn(step: string, given: URLSearchParams): Given {
  const fields = stepForms[step]?.fields ?? []
  return Object.fromEntries(
    fields.map(({ name, kind }) => [name, kind === 'check' || (given.get(name)?.trim() ?? '')]),
  )
}
