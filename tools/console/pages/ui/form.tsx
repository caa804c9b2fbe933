// A form made from a schema: a field for each property, and what the server refused beside it.
/** @jsxImportSource preact */
import type { FieldProblem } from '../call.ts'
import { type ApiDocument, followed, type Schema } from '../schema.ts'

export type Values = Readonly<Record<string, unknown>>

interface FormProps {
  readonly schema: Schema
  readonly document: ApiDocument
  readonly values: Values
  readonly errors: readonly FieldProblem[]
  readonly onChange: (values: Values) => void
}

export function SchemaFields({ schema, document, values, errors, onChange }: FormProps) {
  const { properties = {}, required = [] } = schema
  return (
    <div class="form">
      {Object.entries(properties).map(([name, one]) => (
        <Field
          key={name}
          name={name}
          schema={followed(one, document)}
          document={document}
          required={required.includes(name) && one.default === undefined}
          value={values[name]}
          errors={errors.filter(({ field }) => field === name || field.startsWith(`${name}.`))}
          onChange={(value) => onChange({ ...values, [name]: value })}
        />
      ))}
    </div>
  )
}

interface FieldProps {
  readonly name: string
  readonly schema: Schema
  readonly document: ApiDocument
  readonly required: boolean
  readonly value: unknown
  readonly errors: readonly FieldProblem[]
  readonly onChange: (value: unknown) => void
}

/** `subjectEmail` as people write it. */
export function words(name: string): string {
  const spaced = name
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase()
  return spaced.charAt(0).toUpperCase() + spaced.slice(1)
}

function Field(props: FieldProps) {
  const { name, schema, required, errors } = props
  const wide = schema.type === 'object' || schema.type === 'array'
  const choices = schema.type === 'array' && followed(schema.items, props.document).enum
  const id = `field-${name}`
  const label = (
    <>
      {words(name)}
      {required && <span class="muted"> · required</span>}
    </>
  )
  return (
    <div class={wide ? 'field wide' : 'field'}>
      {choices ? (
        <span class="label" id={`${id}-label`}>
          {label}
        </span>
      ) : (
        <label for={id}>{label}</label>
      )}
      {choices ? <Choices {...props} id={id} choices={choices} /> : <Input {...props} id={id} />}
      {errors.map(({ field, message }) => (
        <p key={field} class="wrong" id={`${id}-wrong`}>
          {field === name ? message : `${field} ${message}`}
        </p>
      ))}
      {errors.length === 0 && !choices && <small>{hint(schema)}</small>}
    </div>
  )
}

type InputProps = FieldProps & { readonly id: string }

function Choices({
  id,
  choices,
  value,
  onChange,
  name,
}: InputProps & { choices: readonly string[] }) {
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

function Input({ id, name, schema, value, errors, onChange, required }: InputProps) {
  const common = {
    id,
    name,
    'aria-required': required,
    'aria-invalid': errors.length > 0,
    'aria-describedby': errors.length > 0 ? `${id}-wrong` : undefined,
  }
  if (schema.enum) {
    return (
      <select
        {...common}
        value={text(value)}
        onChange={({ currentTarget }) => onChange(currentTarget.value || undefined)}
      >
        {!(required && value) && <option value="">–</option>}
        {schema.enum.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
    )
  }
  if (schema.type === 'boolean') {
    return (
      <input
        {...common}
        type="checkbox"
        checked={value === true}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
    )
  }
  const take = ({
    currentTarget,
  }: {
    readonly currentTarget: HTMLInputElement | HTMLTextAreaElement
  }) => onChange(currentTarget.value === '' ? undefined : currentTarget.value)
  if (schema.type === 'object' || schema.type === 'array') {
    return (
      <textarea
        {...common}
        spellcheck={false}
        placeholder={schema.type === 'array' ? '[]' : '{}'}
        value={text(value)}
        onInput={take}
      />
    )
  }
  const numeric = schema.type === 'integer' || schema.type === 'number'
  return (
    <input
      {...common}
      type="text"
      inputMode={numeric ? 'numeric' : 'text'}
      autocomplete="off"
      placeholder={schema.default === undefined ? '' : String(schema.default)}
      value={text(value)}
      onInput={take}
    />
  )
}

const text = (value: unknown) =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)

/** Describes the rules of a field. */
export function rules(schema: Schema, document: ApiDocument): string {
  const one = schema.type === 'array' ? followed(schema.items, document) : schema
  const kind = schema.enum
    ? ''
    : [schema.type]
        .flat()
        .filter((type) => type !== 'null')
        .join(' or ')
  const choices = one.enum ? `${schema === one ? '' : 'each '}one of ${one.enum.join(', ')}` : ''
  const standard = schema.default === undefined ? '' : `${schema.default} by default`
  return [kind, choices, limits(schema), standard].filter(Boolean).join(', ')
}

function hint(schema: Schema): string {
  const { type } = schema
  return [limits(schema), type === 'object' || type === 'array' ? 'JSON' : '']
    .filter(Boolean)
    .join(', ')
}

function limits({ format, maxLength, minimum, maximum }: Schema): string {
  const said = [
    format === 'uuid' ? 'a UUID' : '',
    format === 'email' ? 'an e-mail address' : '',
    format === 'date-time' ? 'e.g. 2026-01-31T12:00:00Z' : '',
    maxLength === undefined ? '' : `at most ${maxLength} characters`,
    minimum !== undefined && maximum !== undefined && maximum < 1e6
      ? `${minimum} to ${maximum}`
      : '',
  ]
  return said.filter(Boolean).join(', ')
}

/** The values as the API takes them: numbers and JSON read, what is empty left out. */
export function toBody(schema: Schema, document: ApiDocument, values: Values) {
  const body: Record<string, unknown> = {}
  const errors: FieldProblem[] = []
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === '') continue
    const { type } = followed(schema.properties?.[name], document)
    const isText = typeof value === 'string'
    if (isText && (type === 'integer' || type === 'number')) body[name] = Number(value)
    else if (isText && (type === 'object' || type === 'array')) {
      try {
        body[name] = JSON.parse(value)
      } catch {
        errors.push({ field: name, message: 'is not JSON' })
      }
    } else body[name] = value
  }
  return { body, errors }
}
