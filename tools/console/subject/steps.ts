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

const field = (
  name: string,
  label: string,
  kind: StepField['kind'] = 'text',
  more: Partial<StepField> = {},
): StepField => ({ name, label, kind, ...more })

/** The form of each step of section 2.1. */
export const stepForms: Readonly<Record<string, StepForm>> = {
  document: {
    title: 'Your document',
    words: 'Have your passport, driving licence or identity card ready.',
    fields: [
      field('type', 'Kind of document', 'choice', {
        choices: {
          passport: 'Passport',
          drivers_license: 'Driving licence',
          identity_card: 'Identity card',
        },
      }),
      field('number', 'Document number'),
      field('validUntil', 'Valid until', 'date'),
    ],
  },
  person: {
    title: 'About you',
    words: 'As shown in your document.',
    fields: [
      field('fullName', 'Full name', 'text', { autocomplete: 'name' }),
      field('dateOfBirth', 'Date of birth', 'date', { autocomplete: 'bday' }),
    ],
  },
  location: {
    title: 'Where you are',
    words: 'Your home address.',
    fields: [
      field('addressLine1', 'Street and number', 'text', { autocomplete: 'address-line1' }),
      field('city', 'City', 'text', { autocomplete: 'address-level2' }),
    ],
  },
  contact: {
    title: 'How to reach you',
    words: 'We write to you only about this verification.',
    fields: [
      field('email', 'E-mail address', 'email', { autocomplete: 'email' }),
      field('phone', 'Telephone', 'tel', { autocomplete: 'tel' }),
    ],
  },
  biometric_face: {
    title: 'Your face',
    words: 'Hold your face in the frame. The sandbox uses no camera: tick the box instead.',
    fields: [field('pictureTaken', 'I have taken the picture of my face', 'check')],
  },
  business: {
    title: 'Your business',
    words: 'The business you represent.',
    fields: [
      field('name', 'Business name', 'text', { autocomplete: 'organization' }),
      field('registrationNumber', 'Registration number'),
    ],
  },
  pep_hio: {
    title: 'Public offices',
    words: 'Whether you, or somebody close to you, holds or has held a prominent public office.',
    fields: [
      field('publicOffice', 'Public office', 'choice', { choices: { no: 'No', yes: 'Yes' } }),
    ],
  },
  financial: {
    title: 'Your finances',
    words: 'Where the money you will use comes from.',
    fields: [
      field('sourceOfFunds', 'Source of funds', 'choice', {
        choices: {
          salary: 'Salary',
          savings: 'Savings',
          business: 'Business',
          inheritance: 'Inheritance',
          other: 'Other',
        },
      }),
    ],
  },
  consent: {
    title: 'Your consent',
    words: 'We cannot verify you without it.',
    fields: [field('agreed', 'I agree that my details are used to verify my identity', 'check')],
  },
  attestation: {
    title: 'Your word',
    words: 'Please review your details.',
    fields: [
      field('truthful', 'Everything I entered is true', 'check'),
      field('signature', 'Your name, as a signature', 'text', { autocomplete: 'name' }),
    ],
  },
  estate: {
    title: 'The estate',
    words: 'The details of this verification.',
    fields: [field('property', 'Property or estate')],
  },
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
      faults[name] = 'Please give an e-mail address'
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
