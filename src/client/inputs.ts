// Arguments of calls, typed by the contract's schemas: every documented value is a literal.
import type { endpoints } from './contract.ts'

/** Input is never changed, so frozen objects fit. */
type DeepReadonly<Value> = Value extends (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : Value extends object
    ? { readonly [Key in keyof Value]: DeepReadonly<Value[Key]> }
    : Value

type BodyOf<Name extends 'createVerification' | 'createClient'> = DeepReadonly<
  (typeof endpoints)[Name]['body']['_input']
>
type QueryOf<Name extends 'listVerifications' | 'listClients'> = DeepReadonly<
  (typeof endpoints)[Name]['query']['_input']
>

/** The body of `POST /verifications` (section 4.1). */
export type CreateVerificationInput = BodyOf<'createVerification'>

/** The body of `POST /clients` (section 4.4). */
export type CreateClientInput = BodyOf<'createClient'>

/** The parameters of `GET /verifications` (section 4.2); dates may be `Date`s. */
export type VerificationQuery = Omit<
  QueryOf<'listVerifications'>,
  'status' | 'dateFrom' | 'dateTo'
> & {
  readonly status?: OneOrMore<NonNullable<QueryOf<'listVerifications'>['status']>[number]>
  readonly dateFrom?: Date | string | undefined
  readonly dateTo?: Date | string | undefined
}

/** The parameters of `GET /clients` (section 4.5). */
export type ClientQuery = Omit<QueryOf<'listClients'>, 'active'> & {
  readonly active?: boolean | 'true' | 'false' | undefined
}

type OneOrMore<Value> = Value | readonly Value[] | undefined
