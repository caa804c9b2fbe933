// How the functions that deliveries wait for find their rows.

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
