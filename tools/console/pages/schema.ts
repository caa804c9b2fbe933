// Reads the service's OpenAPI document far enough to make forms of it.
export interface Schema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly enum?: readonly string[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly default?: unknown
  readonly anyOf?: readonly Schema[]
  readonly $ref?: string
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema?: Schema
}

export interface Operation {
  readonly operationId: string
  readonly summary?: string
  readonly description?: string
  readonly deprecated?: boolean
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly required?: boolean
    readonly content: Readonly<Record<string, { readonly schema: Schema }>>
  }
  readonly responses?: Readonly<Record<string, { readonly description: string }>>
}

export interface ApiDocument {
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> }
}

export interface Endpoint extends Operation {
  readonly method: string
  readonly path: string
}

/** Every operation of a document. */
export function endpointsOf({ paths }: ApiDocument): Endpoint[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => /^(get|post|put|patch|delete)$/.test(method))
      .map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  )
}

/** A schema with its reference followed, and the first of several where there are several. */
export function followed(schema: Schema | undefined, document: ApiDocument): Schema {
  const name = schema?.$ref?.split('/').at(-1)
  const found = name === undefined ? schema : document.components?.schemas?.[name]
  const [first] = found?.anyOf ?? []
  return (first && followed(first, document)) ?? found ?? {}
}

export function bodySchema(operation: Operation, document: ApiDocument): Schema | undefined {
  const schema = operation.requestBody?.content['application/json']?.schema
  return schema && followed(schema, document)
}

/** A small body that an operation takes: its required fields, and what they may be. */
export function exampleOf(schema: Schema, document: ApiDocument): unknown {
  const { type, properties, required = [], items, default: standard } = schema
  if (standard !== undefined) return standard
  if (schema.enum) return schema.enum[0]
  if (type === 'array') return items ? [exampleOf(followed(items, document), document)] : []
  if (type === 'object' || properties) {
    const fields = Object.entries(properties ?? {}).filter(([name]) => required.includes(name))
    return Object.fromEntries(
      fields.map(([name, one]) => [name, exampleOf(followed(one, document), document)]),
    )
  }
  if (type === 'integer' || type === 'number') return schema.minimum ?? 1
  if (type === 'boolean') return true
  return schema.format === 'email' ? 'ada@example.org' : ''
}
