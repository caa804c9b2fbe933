// Changes of a verification: its creation and the actions of subject, operator and clock.
// Every change sets updatedAt, extends the audit trail and, where section 6 has one, emits an event.
import { defined } from '../../src/foundation/defined.ts'
import type { AssembledVerification } from '../../src/protocol/api-schemas.ts'
import { limits, type Requirement } from '../../src/protocol/resources.ts'
import { HttpError, invalidFields } from './http-error.ts'
import { subjectPath } from './paths.ts'
import type { VerificationInput } from './schemas/api.ts'
import type { ClientRow, Organization, TrailEntry, VerificationRow } from './schemas/snapshot.ts'
import type { State } from './state.ts'
import { type ActionName, allowedIn, isOpen, transitions } from './transitions.ts'

type Resource = VerificationRow['resource']

/** An action as the control plane takes it: `submit` may name one step, `reject` a reason. */
export interface Step {
  readonly action: ActionName
  readonly step?: Requirement | undefined
  readonly reason?: string | undefined
  /** The subject's answers in the step. */
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
    seq: state.nextSeq(),
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
  const actions = magicActions(resource.subjectName)
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
  if (resource.subjectEmail === null) return
  const link = `${state.origin()}${subjectPath}${resource.accessToken}`
  state.mail({
    id: state.random.uuid(),
    kind: 'invitation',
    to: resource.subjectEmail,
    subject: `${resource.requestorCompany} asks you to verify your identity`,
    text: `${resource.requestorName} asks you to complete ${resource.requirements.length} step(s) by ${resource.expiresAt}:\n\n${link}\n`,
    verificationId: resource.id,
    organizationId: resource.orgId,
    createdAt: resource.createdAt,
    link,
  })
}

/** Several steps in a row: all of them or, when one is illegal, none. */
export interface Actions {
  readonly steps: readonly Step[]
  /** Takes every step, legal or not. */
  readonly force?: boolean | undefined
}

/**
 * Acts on a verification. Throws 409 `ILLEGAL_TRANSITION` with the allowed actions, before anything
 * has changed.
 */
export function act(state: State, row: VerificationRow, { steps, force }: Actions): void {
  // With the keys that a step may add, so that they go again.
  const before = { given: undefined, ...row }
  const wasOpen = isOpen(row)
  const entries: { readonly step: Step; readonly resource: Resource }[] = []
  try {
    for (const step of steps) {
      if (!force) checkLegal(row, step)
      take(state, row, step)
      entries.push({ step, resource: row.resource })
    }
  } catch (error) {
    Object.assign(row, before)
    throw error
  }
  if (entries.length === 0) return
  if (!wasOpen && isOpen(row)) reopen(state, row)
  state.saveVerification(row)
  for (const { step, resource } of entries) announce(state, row, { step, resource })
}

/** A link that is reopened by force gets a new expiry if its date has passed. */
function reopen(state: State, row: VerificationRow): void {
  const { expiresDays, expiresAt } = row.resource
  const now = state.clock.now().getTime()
  const at = Date.parse(expiresAt) > now ? Date.parse(expiresAt) : now + expiresDays * dayMs
  row.resource = { ...row.resource, expiresAt: new Date(at).toISOString() }
  state.expireLater(row)
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

/** Changes only the row; events and mail follow when all steps are taken. */
function take(state: State, row: VerificationRow, taken: Step): void {
  const { action, step, reason, given } = taken
  const at = state.clock.now().toISOString()
  const { to, actor } = transitions[action]
  const submits = action === 'submit'
  if (submits) {
    const now = step === undefined ? row.resource.requirements : [step]
    const newly = now.filter((one) => !row.completed[one]).map((one) => [one, at])
    row.completed = { ...row.completed, ...Object.fromEntries(newly) }
    if (step !== undefined && given) row.given = { ...row.given, [step]: given }
  }
  const open = row.resource.requirements.filter((one) => !row.completed[one])
  // If there are other steps, the verification stays in progress (section 3: submitted when all
  // are).
  const status = submits && open.length > 0 ? 'in_progress' : to
  row.resource = {
    ...row.resource,
    status,
    currentStep: status === 'in_progress' ? (open[0] ?? null) : null,
    submittedAt: status === 'submitted' ? at : row.resource.submittedAt,
    updatedAt: at,
  }
  row.score = scoreAfter(state, row)
  row.trail = [...row.trail, defined({ at, action, actor, step: step ?? null, status, reason })]
}

function scoreAfter({ random }: State, { score, resource }: VerificationRow): number | null {
  const automatic = resource.subjectName?.trim().toLowerCase()
  if (resource.status === 'approved') return automatic === 'auto approve' ? 97 : (score ?? 90)
  if (resource.status === 'rejected') return automatic === 'auto reject' ? 12 : random.int(0, 39)
  return resource.status === 'submitted' ? random.int(60, 95) : score
}

function announce(
  state: State,
  row: VerificationRow,
  { step, resource }: { readonly step: Step; readonly resource: Resource },
): void {
  const { event, to } = transitions[step.action]
  if (!event || resource.status !== to) return
  state.emit(event, resource)
  if (event === 'verification.approved') share(state, row)
}

/** Section 4.1: the third parties get the result on approval, with the fields that they share. */
function share(state: State, row: VerificationRow): void {
  const result: Readonly<Record<string, unknown>> = { ...assemble(row) }
  for (const party of row.thirdParties ?? []) {
    const fields = ['id', 'status', 'score', 'subjectName', ...(party.sharedFields ?? [])]
    const shared = fields.filter((field) => field !== 'accessToken' && Object.hasOwn(result, field))
    state.mail({
      id: state.random.uuid(),
      kind: 'shared_result',
      to: party.email,
      subject: `A verification was shared with ${party.org ?? party.name}`,
      text: `${row.resource.requestorCompany} shares a verification with you: ${row.resource.status}.\n`,
      verificationId: row.resource.id,
      organizationId: row.resource.orgId,
      createdAt: state.clock.now().toISOString(),
      shared: Object.fromEntries(shared.map((field) => [field, result[field]])),
    })
  }
}

/** The behavior that a magic name selects. */
export interface MagicName {
  readonly name: string
  readonly actions: readonly ActionName[]
  readonly effect: string
}

/** Magic subject names; they match whole and whatever the case. */
export const magicNames: readonly MagicName[] = [
  {
    name: 'Auto Approve',
    actions: ['start', 'submit', 'review', 'approve'],
    effect: 'the subject submits all steps and the operator approves, with a score of 97',
  },
  {
    name: 'Auto Reject',
    actions: ['start', 'submit', 'review', 'reject'],
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

function magicActions(subjectName: string | null): readonly ActionName[] {
  const wanted = subjectName?.trim().toLowerCase()
  return magicNames.find(({ name }) => name.toLowerCase() === wanted)?.actions ?? []
}

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

/** Steps without their own object: their data is in the entry of the trail. */
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
