// A form as data: its fields, and what the server rejected beside each.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type FieldProblem, Problem } from '../server.ts'
import { Button, Failed } from './parts.tsx'

export type Values = Readonly<Record<string, unknown>>

export interface FormField {
  readonly name: string
  readonly label?: string
  readonly kind?: 'choice' | 'choices' | 'json' | 'number' | 'time'
  readonly choices?: readonly string[]
  /** Values that fill the field at a press, with what each does. */
  readonly chips?: readonly { readonly name: string; readonly effect: string }[]
  readonly isRequired?: boolean
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
  readonly label: string
  readonly fields: readonly FormField[]
  readonly start?: Values
  readonly submit: string
  /** Sends the values; a field that the server rejects is marked. */
  readonly onSubmit: (body: Values) => Promise<void>
  readonly children?: ComponentChildren
}

export function Form({ label, fields, start = {}, submit, onSubmit, children }: FormProps) {
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const errorsOf = ({ name }: FormField) =>
    // `thirdParties.0.email` is in the field `thirdParties`.
    problem?.errors.filter(({ field }) => field.split('.', 1)[0] === name) ?? []
  const isFolded = (field: FormField) => field.isRare === true && errorsOf(field).length === 0
  const send = async (form: HTMLFormElement) => {
    setProblem(undefined)
    try {
      await onSubmit(toBody(fields, new FormData(form)))
      form.reset()
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      setProblem(error)
    }
  }
  const show = (some: readonly FormField[]) => (
    <div class="form">
      {some.map((field) => (
        <Field key={field.name} {...field} start={start[field.name]} errors={errorsOf(field)} />
      ))}
    </div>
  )
  const rare = fields.filter(({ isRare }) => isRare)
  return (
    <form
      class="card"
      aria-label={label}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        send(event.currentTarget)
      }}
    >
      {!fields.some((field) => errorsOf(field).length > 0) && <Failed problem={problem} />}
      {show(fields.filter(({ isRare }) => !isRare))}
      {rare.length > 0 && (
        <details open={!rare.every(isFolded)}>
          <summary>More fields</summary>
          {show(rare)}
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

interface FieldProps extends FormField {
  readonly start: unknown
  readonly errors: readonly FieldProblem[]
}

function Field(props: FieldProps) {
  const { name, label = words(name), kind, isRequired, hint, chips = [], errors } = props
  const isGroup = kind === 'choices'
  const [Group, Label] = isGroup ? (['fieldset', 'legend'] as const) : (['div', 'label'] as const)
  const isWide = isGroup || kind === 'json' || chips.length > 0
  const fill = (value: string) => {
    const input = document.querySelector<HTMLInputElement>(`#field-${name}`)
    if (input) input.value = value
  }
  return (
    <Group class={isWide ? 'field wide' : 'field'}>
      <Label {...(!isGroup && { for: `field-${name}` })}>
        {label}
        {isRequired && <span class="muted"> · required</span>}
      </Label>
      <Input {...props} />
      {chips.map(({ name: value, effect }) => (
        <span key={value}>
          <Button kind="chip" work={() => fill(value)} words={value} /> <small>{effect}</small>
        </span>
      ))}
      {errors.map(({ field, message }) => (
        <p key={field} class="wrong" id={`field-${name}-wrong`}>
          {field === name ? message : `${field} ${message}`}
        </p>
      ))}
      {errors.length === 0 && hint && <small>{hint}</small>}
    </Group>
  )
}

function Input({ name, kind, choices = [], isRequired = false, start, errors }: FieldProps) {
  const text = typeof start === 'object' && start ? JSON.stringify(start) : String(start ?? '')
  const isWrong = errors.length > 0
  const common = {
    name,
    id: `field-${name}`,
    'aria-required': isRequired,
    'aria-invalid': isWrong,
    'aria-describedby': isWrong ? `field-${name}-wrong` : undefined,
  }
  if (kind === 'json') return <textarea {...common} spellcheck={false} defaultValue={text} />
  if (kind === 'choice') {
    return (
      <select {...common}>
        {!isRequired && <option value="">–</option>}
        {choices.map((one) => (
          <option key={one} value={one} selected={one === text}>
            {words(one)}
          </option>
        ))}
      </select>
    )
  }
  if (kind === 'time') return <input {...common} type="datetime-local" step="1" />
  if (kind !== 'choices') return <input {...common} autocomplete="off" defaultValue={text} />
  return (
    <div class="choices">
      {choices.map((one) => (
        <label key={one}>
          <input type="checkbox" name={name} value={one} defaultChecked={text.includes(one)} />
          {words(one)}
        </label>
      ))}
    </div>
  )
}

/** The values as the API takes them: numbers, times and JSON are read, empty values left out. */
function toBody(fields: readonly FormField[], form: FormData): Values {
  const body: Record<string, unknown> = {}
  for (const { name, kind } of fields) {
    const text = String(form.get(name) ?? '')
    const read = (value: () => unknown, message: string) => {
      try {
        return value()
      } catch {
        throw new Problem(400, { errors: [{ field: name, message }] })
      }
    }
    if (kind === 'choices') body[name] = form.getAll(name)
    else if (kind === 'time') {
      body[name] = read(() => new Date(text).toISOString(), 'Enter a date and a time')
    } else if (text === '') continue
    else if (kind === 'number') body[name] = Number(text)
    else body[name] = kind === 'json' ? read(() => JSON.parse(text), 'is not JSON') : text
  }
  return body
}
