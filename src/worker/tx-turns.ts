// When a handler that writes by `context.tx` may start: a store has one transaction, and a handler
// that finds it taken must run again. So whoever is known to use it soon waits for its turn first.
import type { Registration } from '../dispatch.ts'
import type { StoreTx } from '../inbox/store.ts'

/** `soon`: it uses the transaction within a moment of its start; `free`: not, or not at all. */
const habits = new WeakMap<Registration['handler'], 'soon' | 'free'>()

/** Milliseconds for which a handler that has not declared itself keeps the others waiting. */
const moment = 100

/** Waits for the transaction's turn where the handler needs it. */
export async function awaitTurn({ handler, options }: Registration, tx: StoreTx): Promise<void> {
  if (options.tx) return tx.reserve()
  const needed = () => habits.get(handler) !== 'free'
  if (needed()) await tx.reserve(moment, needed)
}

/** Remembers how a handler uses the transaction. */
export function learn({ handler }: Registration, tx: StoreTx): void {
  if (tx.delay !== undefined) habits.set(handler, tx.delay <= moment ? 'soon' : 'free')
  else if (!habits.has(handler)) habits.set(handler, 'free')
}
