// Changes of a verification: its creation and the actions of subject, operator and clock.
// Every change sets updatedAt, extends the audit trail and, where section 6 has one, emits an event.
import { defined } from '../../src/foundation/defined.ts'
import type { AssembledVerification } from '../../src/protocol/api-schemas.ts'
import { limits, type Requirement } from '../../src/protocol/resources.ts'
import { HttpError, invalidFields } from './http-error.ts'
import { subjectPath } from './paths.ts'
import type { SeededRandom } from './random.ts'
import type { VerificationInput } from './schemas/api.ts'
import type { ClientRow, Organization, TrailEntry, VerificationRow } from './schemas/snapshot.ts'
import type { State } from './state.ts'
import { type ActionName, allowedIn, transitions } from './transitions.ts'

type Resource = VerificationRow['resource']

/** An action as the control plane takes it: `submit` may name one step, `reject` a reason. */
export interface Step {
  readonly action: ActionName
  readonly step?: Requirement | undefined
  readonly reason?: string | undefined
  readonly given?: Readonly<Record<string, string | true>> | undefined
}

const dayMs = 86_400_000

/** Creates a verification (section 4.1); the answer is the resource before any magic name acts. */
export function createVerification(
  state: State,
  organization: Organization,
  input: VerificationInput,
): Resource {
  const client = linkedClient(state, organization, input.clientId)
  const resource = newResource(state, organization, { input, client })
  const row: VerificationRow = {
    resource,
    score: null,
    completed: {},
    trail: [],
    ...defined({ config: input.config, thirdParties: input.thirdParties }),
  }
  state.saveVerification(row)
  state.expireLater(row)
  if (client) {
    client.resource = { ...client.resource, requestCount: client.resource.requestCount + 1 }
    state.saveClient(client)
  }
  invite(state, resource)
  state.emit('verification.created', resource)
  const actions = magicOf(resource.subjectName)?.actions ?? []
  act(state, row, { steps: actions.map((action) => ({ action })) })
  return resource
}

function linkedClient(
  state: State,
  organization: Organization,
  clientId: string | undefined,
): ClientRow | undefined {
  if (clientId === undefined) return undefined
  const client = state.clients.get(clientId.toLowerCase())
  if (client?.resource.orgId === organization.id && client.resource.active) return client
  throw invalidFields([{ field: 'clientId', message: 'names no client of this organization' }])
}

function newResource(
  { clock, random }: State,
  organization: Organization,
  { input, client }: { input: VerificationInput; client: ClientRow | undefined },
): Resource {
  const now = clock.now()
  const createdAt = now.toISOString()
  const expiresDays = input.expiresDays ?? limits.expiresDays.default
  return {
    id: random.uuid(),
    orgId: organization.id,
    type: input.type,
    status: 'initiated',
    requirements: [...input.requirements],
    currentStep: null,
    subjectName: input.subjectName ?? clientName(client),
    subjectEmail: input.subjectEmail ?? client?.resource.email ?? null,
    subjectPhone: input.subjectPhone ?? client?.resource.phone ?? null,
    requestorName: organization.requestorName,
    requestorEmail: organization.requestorEmail,
    requestorCompany: organization.name,
    clientId: client?.resource.id ?? null,
    matterId: input.matterId ?? null,
    expiresDays,
    expiresAt: new Date(now.getTime() + expiresDays * dayMs).toISOString(),
    submittedAt: null,
    accessToken: random.token(),
    createdAt,
    updatedAt: createdAt,
  }
}

/** A person's name, else the business's, cut to what section 8 lets a subject's name have. */
function clientName(client: ClientRow | undefined): string | null {
  if (!client) return null
  const { nameFirst, nameLast, businessName } = client.resource
  const person = [nameFirst, nameLast].filter(Boolean).join(' ')
  const name = person || businessName
  // Characters, not halves of them.
  return name ? [...name].slice(0, limits.subjectName).join('') : null
}

function invite(state: State, resource: Resource): void {
  const { subjectEmail, requestorCompany, requestorName, requirements, expiresAt } = resource
  if (subjectEmail === null) return
  const link = `${state.origin()}${subjectPath}${resource.accessToken}`
  state.mail(resource, {
    kind: 'invitation',
    to: subjectEmail,
    subject: `${requestorCompany} asks you to verify your identity`,
    text: `${requestorName} asks you to complete ${requirements.length} step(s) by ${expiresAt}:\n\n${link}\n`,
    link,
  })
}

/** Throws 409 `ILLEGAL_TRANSITION` before anything has changed; `force` takes every step. */
export function act(
  state: State,
  row: VerificationRow,
  { steps, force }: { readonly steps: readonly Step[]; readonly force?: boolean | undefined },
): void {
  let next = row
  const taken = steps.map((step) => {
    if (!force) checkLegal(next, step)
    next = take(state, next, step)
    return { ...transitions[step.action], resource: next.resource }
  })
  if (taken.length === 0) return
  Object.assign(row, next)
  state.saveVerification(row)
  for (const { event, to, resource } of taken) {
    if (!event || resource.status !== to) continue
    state.emit(event, resource)
    if (event === 'verification.approved') share(state, row)
  }
}

function checkLegal({ resource, completed }: VerificationRow, { action, step }: Step): void {
  const allowed = allowedIn(resource.status)
  if (!allowed.includes(action)) {
    const may = allowed.length > 0 ? `allowed: ${allowed.join(', ')}` : 'nothing is allowed'
    throw illegal(`cannot ${action} a verification that is ${resource.status}; ${may}`, allowed)
  }
  if (step === undefined) return
  const open = resource.requirements.filter((one) => !completed[one])
  if (open.some((one) => one === step)) return
  throw illegal(`cannot submit step ${step}; open steps: ${open.join(', ')}`, allowed)
}

function illegal(message: string, allowed: readonly ActionName[]): HttpError {
  return new HttpError(409, message, { code: 'ILLEGAL_TRANSITION', more: { allowed } })
}

/** The row after a step; events and mail follow when all steps are taken. */
function take({ clock, random }: State, row: VerificationRow, taken: Step): VerificationRow {
  const { action, step, reason, given } = taken
  const { requirements, submittedAt } = row.resource
  const at = clock.now().toISOString()
  const { to, actor } = transitions[action]
  const submitted = action !== 'submit' ? [] : step === undefined ? requirements : [step]
  const completed = { ...Object.fromEntries(submitted.map((one) => [one, at])), ...row.completed }
  const open = requirements.filter((one) => !completed[one])
  // If there are other steps, the verification stays in progress (section 3: submitted when all
  // are).
  const status = action === 'submit' && open.length > 0 ? 'in_progress' : to
  const resource = {
    ...row.resource,
    status,
    currentStep: status === 'in_progress' ? (open[0] ?? null) : null,
    submittedAt: status === 'submitted' ? at : submittedAt,
    updatedAt: at,
  }
  return {
    ...row,
    resource,
    score: scoreAfter(random, resource, row.score),
    completed,
    ...(step && given && { given: { ...row.given, [step]: given } }),
    trail: [...row.trail, defined({ at, action, actor, step: step ?? null, status, reason })],
  }
}

function scoreAfter(
  random: SeededRandom,
  { status, subjectName }: Resource,
  score: number | null,
): number | null {
  if (status === 'approved') return magicOf(subjectName)?.score ?? score ?? 90
  if (status === 'rejected') return magicOf(subjectName)?.score ?? random.int(0, 39)
  return status === 'submitted' ? random.int(60, 95) : score
}

/** Section 4.1: the third parties get the result on approval, with the fields that they share. */
function share(state: State, row: VerificationRow): void {
  const result: Readonly<Record<string, unknown>> = { ...assemble(row) }
  for (const party of row.thirdParties ?? []) {
    const fields = ['id', 'status', 'score', 'subjectName', ...(party.sharedFields ?? [])]
    const shared = fields.filter((field) => field !== 'accessToken' && Object.hasOwn(result, field))
    state.mail(row.resource, {
      kind: 'shared_result',
      to: party.email,
      subject: `A verification was shared with ${party.org ?? party.name}`,
      text: `${row.resource.requestorCompany} shares a verification with you: ${row.resource.status}.\n`,
      shared: Object.fromEntries(shared.map((field) => [field, result[field]])),
    })
  }
}

/** Magic subject names; they match whole and whatever the case. */
export const magicNames: readonly {
  readonly name: string
  readonly actions: readonly ActionName[]
  readonly score?: number
  readonly effect: string
}[] = [
  {
    name: 'Auto Approve',
    actions: ['start', 'submit', 'review', 'approve'],
    score: 97,
    effect: 'the subject submits all steps and the operator approves, with a score of 97',
  },
  {
    name: 'Auto Reject',
    actions: ['start', 'submit', 'review', 'reject'],
    score: 12,
    effect: 'the subject submits all steps and the operator rejects, with a score of 12',
  },
  {
    name: 'Auto Review',
    actions: ['start', 'submit', 'review'],
    effect: 'the subject submits all steps; the verification waits for an operator',
  },
  {
    name: 'No Answer',
    actions: [],
    effect: 'the subject never opens the link; the verification expires by the clock',
  },
]

const magicOf = (subjectName: string | null) =>
  magicNames.find(({ name }) => name.toLowerCase() === subjectName?.trim().toLowerCase())

type StepData = Readonly<Record<string, unknown>>

/** The step of each field of section 2.2; consent, attestation and estate appear only in the trail. */
const stepOf = {
  person: 'person',
  biometric: 'biometric_face',
  location: 'location',
  contact: 'contact',
  business: 'business',
  financial: 'financial',
  pep: 'pep_hio',
} as const

/** The single-request read of section 2.2: with the score, the step objects and the audit trail. */
export function assemble(row: VerificationRow): AssembledVerification {
  const { resource, score, trail } = row
  const data = Object.entries(stepOf).map(([field, step]) => [field, stepData(row, step)])
  const document = stepData(row, 'document')
  return {
    ...resource,
    score,
    ...(Object.fromEntries(data) as Record<keyof typeof stepOf, StepData | null>),
    documents: document ? [document] : [],
    steps: [creation(row), ...trail.map((entry) => withGiven(entry, row))],
  }
}

/** The data of a step as the subject filled it in; null until the step is submitted. */
export function stepData({ completed, given }: VerificationRow, step: string): StepData | null {
  const completedAt = completed[step]
  return completedAt === undefined ? null : { status: 'completed', completedAt, ...given?.[step] }
}

/** Steps without an object of their own. The audit trail holds their data. */
const unplaced = /^(?:consent|attestation|estate)$/

function withGiven(entry: TrailEntry, { given }: VerificationRow): TrailEntry | object {
  const own = entry.step !== null && unplaced.test(entry.step) ? given?.[entry.step] : undefined
  return own ? { ...entry, given: own } : entry
}

/** The trail's first entry follows from the row, which therefore does not hold it. */
function creation({ resource }: VerificationRow): TrailEntry {
  const { createdAt: at } = resource
  return { at, action: 'create', actor: 'requestor', step: null, status: 'initiated' }
}
