// A form as data: its fields, and what the server rejected beside each.
/** @jsxImportSource preact */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type FieldProblem, Problem } from '../call.ts'
import { Button } from './actions.tsx'
import { Failed } from './parts.tsx'

export type Values = Readonly<Record<string, unknown>>

export interface FormField {
  readonly name: string
  readonly label?: string
  /** A line of text by default. */
  readonly kind?: 'choice' | 'choices' | 'json' | 'number'
  readonly choices?: readonly string[]
  /** Values that fill the field at a press, with what each does. */
  readonly chips?: readonly { readonly name: string; readonly effect: string }[]
  readonly isRequired?: boolean
  /** Folded away until it is wanted. */
  readonly isRare?: boolean
  readonly hint?: string
}

const acronyms = /\b(id|idv|kyc|kyb|pep|hio|url)\b/g

/** `subjectEmail` as people write it: "Subject email". */
export function words(name: string): string {
  const spaced = name.replaceAll(/([a-z])([A-Z0-9])/g, '$1 $2').replaceAll('_', ' ')
  const text = spaced.toLowerCase().replaceAll(acronyms, (word) => word.toUpperCase())
  return text.charAt(0).toUpperCase() + text.slice(1)
}

interface FormProps {
  /** Accessible name of the form. */
  readonly label: string
  readonly fields: readonly FormField[]
  readonly start?: Values
  /** The words of the button. */
  readonly submit: string
  /** Sends the values; a field that the server rejects is marked. */
  readonly onSubmit: (body: Values) => Promise<void>
  /** Beside the button. */
  readonly children?: ComponentChildren
}

export function Form({ label, fields, start = {}, submit, onSubmit, children }: FormProps) {
  const [values, setValues] = useState<Values>(start)
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const [errors, setErrors] = useState<readonly FieldProblem[]>([])
  const send = async () => {
    const { body, errors: own } = toBody(fields, values)
    setErrors(own)
    setProblem(undefined)
    if (own.length > 0) return
    try {
      await onSubmit(body)
      setValues(start)
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      const isKnown = ({ field }: FieldProblem) => fields.some(({ name }) => isAt(field, name))
      setErrors(error.errors.filter(isKnown))
      if (!error.errors.some(isKnown)) setProblem(error)
    }
  }
  const isFolded = ({ name, isRare }: FormField) =>
    isRare === true && !errors.some(({ field }) => isAt(field, name))
  const show = (field: FormField) => (
    <Field
      key={field.name}
      field={field}
      value={values[field.name]}
      errors={errors.filter(({ field: at }) => isAt(at, field.name))}
      onChange={(value) => setValues({ ...values, [field.name]: value })}
    />
  )
  const rare = fields.filter(isFolded)
  return (
    <form
      class="card"
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <Failed problem={problem} />
      <div class="form">{fields.filter((field) => !isFolded(field)).map(show)}</div>
      {rare.length > 0 && (
        <details>
          <summary>More fields</summary>
          <div class="form">{rare.map(show)}</div>
        </details>
      )}
      <div class="actions">
        <button type="submit" class="main">
          {submit}
        </button>
        {children}
      </div>
    </form>
  )
}

/** `thirdParties.0.email` is in the field `thirdParties`. */
const isAt = (path: string, name: string) => path.split('.', 1)[0] === name

interface FieldProps {
  readonly field: FormField
  readonly value: unknown
  readonly errors: readonly FieldProblem[]
  readonly onChange: (value: unknown) => void
}

function Field(props: FieldProps) {
  const { field, errors, onChange } = props
  const { name, kind, isRequired, hint, chips } = field
  const isWide = kind === 'choices' || kind === 'json' || chips !== undefined
  const Label = kind === 'choices' ? 'legend' : 'label'
  const Group = kind === 'choices' ? 'fieldset' : 'div'
  return (
    <Group class={isWide ? 'field wide' : 'field'}>
      <Label {...(kind !== 'choices' && { for: `field-${name}` })}>
        {field.label ?? words(name)}
        {isRequired && <span class="muted"> · required</span>}
      </Label>
      {kind === 'choices' ? <Choices {...props} /> : <Input {...props} />}
      {chips?.map(({ name: value, effect }) => (
        <span key={value}>
          <Button kind="chip" work={() => onChange(value)}>
            {value}
          </Button>{' '}
          <small>{effect}</small>
        </span>
      ))}
      {errors.map(({ field: at, message }) => (
        <p key={at} class="wrong" id={`field-${name}-wrong`}>
          {at === name ? message : `${at} ${message}`}
        </p>
      ))}
      {errors.length === 0 && hint && <small>{hint}</small>}
    </Group>
  )
}

function Choices({ field: { choices = [] }, value, onChange }: FieldProps) {
  const chosen = Array.isArray(value) ? (value as readonly string[]) : []
  const toggle = (one: string) =>
    onChange(chosen.includes(one) ? chosen.filter((other) => other !== one) : [...chosen, one])
  return (
    <div class="choices">
      {choices.map((one) => (
        <label key={one}>
          <input type="checkbox" checked={chosen.includes(one)} onChange={() => toggle(one)} />
          {words(one)}
        </label>
      ))}
    </div>
  )
}

function Input({ field, value, errors, onChange }: FieldProps) {
  const { name, kind, choices = [], isRequired = false } = field
  const take = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    onChange(currentTarget.value || undefined)
  const common = {
    id: `field-${name}`,
    value: typeof value === 'object' && value ? JSON.stringify(value) : String(value ?? ''),
    'aria-required': isRequired,
    'aria-invalid': errors.length > 0,
    'aria-describedby': errors.length > 0 ? `field-${name}-wrong` : undefined,
    onInput: take,
  }
  if (kind === 'json') return <textarea {...common} spellcheck={false} />
  if (kind !== 'choice') return <input {...common} type="text" autocomplete="off" />
  return (
    <select {...common}>
      {!isRequired && <option value="">–</option>}
      {choices.map((one) => (
        <option key={one} value={one}>
          {words(one)}
        </option>
      ))}
    </select>
  )
}

/** The values as the API takes them: numbers and JSON are read, empty values left out. */
function toBody(fields: readonly FormField[], values: Values) {
  const body: Record<string, unknown> = {}
  const errors: FieldProblem[] = []
  for (const { name, kind } of fields) {
    const value = values[name] ?? undefined
    if (value === undefined || value === '') continue
    if (typeof value !== 'string' || (kind !== 'number' && kind !== 'json')) body[name] = value
    else if (kind === 'number') body[name] = Number(value)
    else {
      try {
        body[name] = JSON.parse(value)
      } catch {
        errors.push({ field: name, message: 'is not JSON' })
      }
    }
  }
  return { body, errors }
}
