// Inputs of the service's endpoints, checked by the contract's schemas.
import type * as z from 'zod'
import type { endpoints } from '../../../src/client/contract.ts'

type Endpoints = typeof endpoints
type Query<Name extends 'listVerifications' | 'listClients'> = Omit<
  z.infer<Endpoints[Name]['query']>,
  'page' | 'limit'
>

export type VerificationInput = z.infer<Endpoints['createVerification']['body']>
export type ClientInput = z.infer<Endpoints['createClient']['body']>
export type VerificationsQuery = Query<'listVerifications'>
export type ClientsQuery = Query<'listClients'>
