// A form as data: its fields, and what the server rejected beside each.
/** @jsxImportSource preact */
import type { FieldProblem } from '../call.ts'

export type Values = Readonly<Record<string, unknown>>

export interface FormField {
  readonly name: string
  readonly label?: string
  /** A line of text by default. */
  readonly kind?: 'choice' | 'choices' | 'json' | 'number'
  readonly choices?: readonly string[]
  readonly required?: boolean
  readonly hint?: string
}

interface FormProps {
  readonly fields: readonly FormField[]
  readonly values: Values
  readonly errors: readonly FieldProblem[]
  readonly onChange: (values: Values) => void
}

/** `subjectEmail` as people write it. */
export function words(name: string): string {
  const spaced = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
  return spaced.charAt(0).toUpperCase() + spaced.slice(1)
}

export function FormFields({ fields, values, errors, onChange }: FormProps) {
  return (
    <div class="form">
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name]}
          errors={errors.filter(({ field: at }) => at.split('.', 1)[0] === field.name)}
          onChange={(value) => onChange({ ...values, [field.name]: value })}
        />
      ))}
    </div>
  )
}

interface FieldProps {
  readonly field: FormField
  readonly value: unknown
  readonly errors: readonly FieldProblem[]
  readonly onChange: (value: unknown) => void
}

function Field(props: FieldProps) {
  const { field, errors } = props
  const { name, kind, required, hint } = field
  const id = `field-${name}`
  const isGroup = kind === 'choices'
  const label = (
    <>
      {field.label ?? words(name)}
      {required && <span class="muted"> · required</span>}
    </>
  )
  return (
    <div class={isGroup || kind === 'json' ? 'field wide' : 'field'}>
      {isGroup ? (
        <span class="label" id={`${id}-label`}>
          {label}
        </span>
      ) : (
        <label for={id}>{label}</label>
      )}
      {isGroup ? <Choices {...props} id={id} /> : <Input {...props} id={id} />}
      {errors.map(({ field: at, message }) => (
        <p key={at} class="wrong" id={`${id}-wrong`}>
          {at === name ? message : `${at} ${message}`}
        </p>
      ))}
      {errors.length === 0 && hint && <small>{hint}</small>}
    </div>
  )
}

type InputProps = FieldProps & { readonly id: string }

function Choices({ id, field: { name, choices = [] }, value, onChange }: InputProps) {
  const chosen = Array.isArray(value) ? (value as readonly string[]) : []
  return (
    <fieldset class="choices" aria-labelledby={`${id}-label`}>
      {choices.map((one) => (
        <label key={one}>
          <input
            type="checkbox"
            name={name}
            value={one}
            checked={chosen.includes(one)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(checked ? [...chosen, one] : chosen.filter((other) => other !== one))
            }
          />
          {words(one)}
        </label>
      ))}
    </fieldset>
  )
}

function Input({ id, field, value, errors, onChange }: InputProps) {
  const { name, kind, choices = [], required = false } = field
  const take = ({ currentTarget }: { readonly currentTarget: { readonly value: string } }) =>
    onChange(currentTarget.value || undefined)
  const text =
    value === undefined || typeof value === 'string' ? (value ?? '') : JSON.stringify(value)
  const common = {
    id,
    name,
    value: text,
    'aria-required': required,
    'aria-invalid': errors.length > 0,
    'aria-describedby': errors.length > 0 ? `${id}-wrong` : undefined,
  }
  if (kind === 'choice') {
    return (
      <select {...common} onChange={take}>
        {!required && <option value="">–</option>}
        {choices.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    )
  }
  if (kind === 'json') return <textarea {...common} spellcheck={false} onInput={take} />
  return <input {...common} type="text" autocomplete="off" onInput={take} />
}

/** The values as the API takes them: numbers and JSON are read, empty values left out. */
export function toBody(fields: readonly FormField[], values: Values) {
  const body: Record<string, unknown> = {}
  const errors: FieldProblem[] = []
  for (const { name, kind } of fields) {
    const value = values[name] ?? undefined
    if (value === undefined || value === '') continue
    if (typeof value !== 'string') body[name] = value
    else if (kind === 'number') body[name] = Number(value)
    else if (kind !== 'json') body[name] = value
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
