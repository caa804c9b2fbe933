// How the functions that deliveries wait for find their rows.

/**
 * Rows are found one by one in the order of an index. The planner does not know how few are asked
 * for: it would hash whole tables, or read a whole lane and sort it for the sake of its head.
 */
export const oneByOne = `set jit = off set enable_seqscan = off set enable_bitmapscan = off
set enable_hashjoin = off set enable_mergejoin = off set plan_cache_mode = force_generic_plan`
