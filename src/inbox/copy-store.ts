// The part of the port that moves an inbox to another engine: rows out in the order of their keys,
// rows in once, and what there is, to be compared.

/** The tables to copy, in order. */
export const copyTables = {
  settings: ['name', 'value'],
  relations: ['lane', 'related', 'at'],
  marks: ['lane', 'at', 'final', 'touched', 'decision'],
  keys: ['key', 'entry', 'digest', 'name', 'at'],
  contents: ['seq', 'metadata', 'body'],
  handled: ['seq', 'handler'],
  entries: [
    ...['seq', 'id', 'state', 'lane', 'related', 'name', 'received_name', 'source'],
    ...['occurred_at', 'stored_at', 'bytes', 'attempt', 'generation', 'fence', 'lease_until'],
    ...['due', 'settled_at', 'reason', 'failures', 'conflict_of', 'erased'],
  ],
  lanes: ['lane', 'head', 'due', 'floor'],
} as const satisfies Readonly<Record<string, readonly [key: string, ...rest: string[]]>>

export type CopyTable = keyof typeof copyTables

/** `failures` is JSON; times are milliseconds, and what is true or false is so. */
export type CopyRow = Readonly<Record<string, string | number | boolean | null | Uint8Array>>

/** The first column of a table; several rows of `handled` have the same. */
export type CopyKey = string | number

export interface CopyRequest {
  readonly table: CopyTable
  /** The key of the last row of the page before. */
  readonly after?: CopyKey
  /** So many keys at most. */
  readonly limit: number
}

/** Numbers that are the same in a whole copy, by their names. */
export type CopyTally = Readonly<Record<string, number>>

/** No entry of a copy has a living owner: leases come over as those of a process that is gone. */
export const noOwner = -1

/** The operations of a store that can be moved. Every call may be repeated. */
export interface CopyStore {
  /** The same text for every handle of one inbox, however it is addressed. Changes nothing. */
  identity(): Promise<string>
  /** The number of other processes that have it open. */
  others(): Promise<number>
  /**
   * Refuses a target that could not be filled to the end, before anything is changed.
   *
   * @throws WebhookError `STORE_UNSUITABLE`
   */
  assertFillable(): Promise<void>
  read(request: CopyRequest): Promise<readonly CopyRow[]>
  /** Adds rows in one commit; those that are there stay as they are, settings excepted. */
  add(table: CopyTable, rows: readonly CopyRow[]): Promise<void>
  /** The last key that was added. */
  last(table: CopyTable): Promise<CopyKey | undefined>
  tally(): Promise<CopyTally>
  /**
   * Resolves once every transaction has ended that may not have seen the setting `move`, which was
   * stored before: from now on nobody but this process changes anything.
   */
  quiesce(): Promise<void>
  /** Before it is read: lanes that a damaged file has lost, for which no other store would look. */
  restore?(): Promise<void>
  /** The last step: numbers of new entries go on after the highest, states are counted. */
  finish(): Promise<void>
}
