// How functions find their rows, and the functions and operators that they use.

/**
 * Where the names in a function are looked for. In the application's path another role may have made an
 * operator that fits better than the one of Postgres, and it would run as the inbox.
 */
export const ownPath = 'set search_path = pg_catalog, pg_temp'

/**
 * Rows are found one by one in the order of an index. The planner does not know how few are asked
 * for: it would hash whole tables, or read a whole lane and sort it for the sake of its head.
 */
export const oneByOne = `set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan`

/**
 * Whether an entry that is found by its id or number is leased. An expression, so that no planner
 * takes the index of leased entries for it: while an old snapshot is held, that has every entry
 * which was leased since.
 */
export const isLeased = (state: string): string => `${state} || '' = 'leased'`

/** Milliseconds within which other processes commit what they keep by the same clock. */
export const slack = 3_000
