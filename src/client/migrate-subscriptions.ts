// Replaces subscriptions that have legacy filters, on any subscription API: creates a replacement
// beside each, removes the old one once the replacement has delivered, and can undo both.
import { checkChoice, checkFunction, checkOptionNames, invalid } from '../foundation/check.ts'
import { covers, isLegacyName, migrateFilters } from '../protocol/names.ts'

/** A subscription. Its further fields, such as an owner, are handed on to its replacement. */
export interface EventSubscription {
  readonly id: string
  readonly url: string
  readonly events: readonly string[]
  /** False for a paused subscription: the migration leaves it as it is. */
  readonly active?: boolean | undefined
  /** The signing secret, if the API shows it. */
  readonly secret?: string | undefined
}

/** The functions of a subscription API that a migration calls. */
export interface SubscriptionApi {
  /** Lists every subscription, all pages of them. */
  list(): Promise<Iterable<EventSubscription>> | Iterable<EventSubscription>
  /** Creates a subscription like another. If the API hides secrets, add the receiver's here. */
  create(input: Omit<EventSubscription, 'id'>): Promise<Pick<EventSubscription, 'id'>>
  remove(id: string): Promise<unknown>
}

/** An old subscription and its replacements, without their secrets. */
export interface SubscriptionPair {
  readonly old: EventSubscription
  /** The replacement; then the subscription for filters that were not renamed. */
  readonly created: readonly string[]
  /** The old subscription was removed. */
  readonly removed?: boolean
}

/** Keeps what a migration did, so that a later run continues it or rolls it back. */
export interface MigrationJournal {
  read(): Promise<readonly SubscriptionPair[]> | readonly SubscriptionPair[]
  write(pairs: readonly SubscriptionPair[]): Promise<void> | void
}

/** Options of `migrateSubscriptions`. */
export interface MigrateSubscriptionsOptions {
  /** `plan`, the default, changes nothing; `apply` takes the next safe step of each subscription. */
  readonly action?: 'plan' | 'apply' | 'rollback' | undefined
  /** Required to apply and to roll back. */
  readonly journal?: MigrationJournal | undefined
  /**
   * Tells by your receiver or the API whether a replacement has delivered; required to apply. An
   * old subscription is removed only after its replacement has delivered.
   */
  readonly hasDelivered?: ((id: string) => boolean | Promise<boolean>) | undefined
  /**
   * Tells whether no delivery of a subscription is being retried: removing the subscription would
   * lose such deliveries.
   */
  readonly isSettled?: ((id: string) => boolean | Promise<boolean>) | undefined
  /** Called after every step. */
  readonly onStep?: ((step: SubscriptionStep) => void) | undefined
  /** Stops between two subscriptions. */
  readonly signal?: AbortSignal | undefined
}

/** The plan for one subscription. */
export interface PlannedSubscription {
  readonly subscription: EventSubscription
  /**
   * `current` needs no change; `replace` gets a replacement beside it; `covered` has the current
   * names too, so remove its legacy ones yourself; `inactive` is left to its owner.
   */
  readonly action: 'current' | 'replace' | 'covered' | 'inactive'
  /** Filters of the replacement: only the renamed ones, so that no other event arrives twice. */
  readonly renamed: readonly string[]
  /** Filters that get a second new subscription when the old one is removed. */
  readonly kept: readonly string[]
}

/** A step that a run took or must wait with. */
export interface SubscriptionStep {
  /** The old subscription; of a rollback's `removed`, the replacement. */
  readonly id: string
  readonly did: 'created' | 'removed' | 'restored' | 'waiting'
  /** The new subscription. */
  readonly replacement?: string
  /** It waits until the replacement has delivered, or until retries have ended. */
  readonly waitsFor?: 'delivery' | 'retries'
}

/** The result of a run. */
export interface SubscriptionMigration {
  readonly plan: readonly PlannedSubscription[]
  readonly steps: readonly SubscriptionStep[]
}

const names: readonly (keyof MigrateSubscriptionsOptions)[] = [
  'action',
  'journal',
  'hasDelivered',
  'isSettled',
  'onStep',
  'signal',
]

/**
 * Plans, applies or rolls back the replacement of legacy filters. Deploy the receiver first: it takes
 * both names. If a creation failed without a response, delete what it made before the next run;
 * start one run at a time.
 *
 * @throws WebhookError `OPTION_INVALID`; what the API and the journal throw; the signal's reason
 * @example
 * await migrateSubscriptions({ list, create, remove }, { action: 'apply', journal, hasDelivered })
 */
export async function migrateSubscriptions(
  api: SubscriptionApi,
  options: MigrateSubscriptionsOptions = {},
): Promise<SubscriptionMigration> {
  const { action = 'plan', journal, onStep } = checked(api, options)
  const listed = [...(await api.list())]
  const plan = listed.map(planSubscription)
  const steps: SubscriptionStep[] = []
  if (action !== 'plan' && journal) {
    const run: MigrationRun = { api, options, journal, listed, pairs: await journal.read() }
    const taken = action === 'apply' ? apply(run, plan) : rollBack(run)
    for await (const step of taken) {
      steps.push(step)
      onStep?.(step)
    }
  }
  return { plan, steps }
}

function checked(api: SubscriptionApi, options: MigrateSubscriptionsOptions) {
  checkOptionNames('migrateSubscriptions', options, names)
  checkChoice('action', options.action, ['plan', 'apply', 'rollback'])
  for (const name of ['list', 'create', 'remove'] as const) {
    if (typeof api?.[name] === 'function') continue
    throw invalid(`migrateSubscriptions needs { list, create, remove }: pass a function ${name}`)
  }
  checkFunction('hasDelivered', options.hasDelivered, '(id) => deliveredIds.has(id)')
  checkFunction('isSettled', options.isSettled, '(id) => !pendingIds.has(id)')
  checkFunction('onStep', options.onStep, '(step) => log.info(step)')
  const { action = 'plan', journal, hasDelivered } = options
  if (action !== 'plan' && !journal) {
    throw invalid(`action '${action}' needs a journal: { read, write }, e.g. of a file`)
  }
  if (action === 'apply' && !hasDelivered) {
    throw invalid("action 'apply' needs hasDelivered: (id) => whether that subscription delivered")
  }
  return options
}

function planSubscription(subscription: EventSubscription): PlannedSubscription {
  const { events, active } = subscription
  const kept = events.filter((filter) => !isLegacyName(filter))
  const legacy = events.filter(isLegacyName)
  const renamed = migrateFilters(legacy).filter((name) => !kept.some((one) => covers(one, name)))
  const plan = { subscription, renamed, kept }
  if (legacy.length === 0) return { ...plan, action: 'current' }
  if (active === false) return { ...plan, action: 'inactive' }
  return { ...plan, action: renamed.length === 0 ? 'covered' : 'replace' }
}

interface MigrationRun {
  readonly api: SubscriptionApi
  readonly options: MigrateSubscriptionsOptions
  readonly journal: MigrationJournal
  readonly listed: readonly EventSubscription[]
  pairs: readonly SubscriptionPair[]
}

async function* apply(
  run: MigrationRun,
  plan: readonly PlannedSubscription[],
): AsyncGenerator<SubscriptionStep> {
  for (const planned of plan) {
    run.options.signal?.throwIfAborted()
    if (planned.action === 'replace') yield await replace(run, planned)
  }
}

async function replace(
  run: MigrationRun,
  { subscription, renamed, kept }: PlannedSubscription,
): Promise<SubscriptionStep> {
  const { id, secret: _, ...rest } = subscription
  const pair = run.pairs.find((one) => one.old.id === id) ?? { old: { id, ...rest }, created: [] }
  const replacement = run.listed.find((one) => one.id === pair.created[0])
  if (!replacement) {
    const made = await create(run, { ...subscription, events: renamed })
    await save(run, { ...pair, created: [made] })
    return { id, did: 'created', replacement: made }
  }
  const ids = { id, replacement: replacement.id }
  const hasDelivered = await run.options.hasDelivered?.(replacement.id)
  if (!hasDelivered || replacement.active === false) {
    return { ...ids, did: 'waiting', waitsFor: 'delivery' }
  }
  if (!(await isSettled(run, id))) return { ...ids, did: 'waiting', waitsFor: 'retries' }
  let { created } = pair
  if (kept.length > 0 && created.length < 2) {
    // Create before the removal: the other order would lose events.
    created = [...created, await create(run, { ...subscription, events: kept })]
    await save(run, { ...pair, created })
  }
  await run.api.remove(id)
  await save(run, { ...pair, created, removed: true })
  return { ...ids, did: 'removed' }
}

/** Undoes every pair of the journal, the latest first. */
async function* rollBack(run: MigrationRun): AsyncGenerator<SubscriptionStep> {
  for (const pair of [...run.pairs].reverse()) {
    run.options.signal?.throwIfAborted()
    yield* takeBack(run, pair)
  }
}

async function* takeBack(
  run: MigrationRun,
  { old, created, removed }: SubscriptionPair,
): AsyncGenerator<SubscriptionStep> {
  const replacements = run.listed.filter(({ id }) => created.includes(id))
  let { id: oldId } = old
  let isAlone = removed
  if (!run.listed.some(({ id, active }) => id === oldId && active !== false)) {
    const secret = replacements[0]?.secret
    oldId = await create(run, { ...old, ...(secret !== undefined && { secret }) })
    isAlone = true
    await save(run, { old: { ...old, id: oldId }, created, removed: true }, old.id)
    yield { id: old.id, did: 'restored', replacement: oldId }
  }
  for (const { id } of replacements) {
    // Since the old subscription was removed, only the replacement has delivered these events.
    if (isAlone && !(await isSettled(run, id))) {
      yield { id, did: 'waiting', waitsFor: 'retries' }
      return
    }
    await run.api.remove(id)
    yield { id, did: 'removed' }
  }
  await save(run, undefined, oldId)
}

async function isSettled({ options }: MigrationRun, id: string): Promise<boolean> {
  return (await options.isSettled?.(id)) ?? true
}

async function create({ api }: MigrationRun, { id: _, ...input }: EventSubscription) {
  return (await api.create(input)).id
}

/** Writes a pair in place of the pair of the same old subscription, or removes it. */
async function save(run: MigrationRun, pair: SubscriptionPair | undefined, of = pair?.old.id) {
  const others = run.pairs.filter(({ old }) => old.id !== of)
  run.pairs = pair ? [...others, pair] : others
  await run.journal.write(run.pairs)
}
