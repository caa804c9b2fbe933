// Cursors of postgres.js. One that is open waits at the server for whoever reads it, and all that is sent
// on its connection waits for that: no time limit of the server counts meanwhile.

type ReadRows = (rows: unknown) => unknown

/** A statement of postgres.js that may become a cursor: it calls `cursorFn` with rows, and waits. */
interface MaybeCursor {
  cursorFn?: ReadRows | null | undefined
}

/** Closes a cursor of postgres.js once `over` resolves with its sign for that. */
export function closeOnceOver(statement: object, over: Promise<unknown>): void {
  let read: ReadRows | null | undefined
  Object.defineProperty(statement, 'cursorFn', {
    get: () => read,
    // An iterator sets another one for each of its steps.
    set: (given: MaybeCursor['cursorFn']) => {
      read = given && ((rows) => Promise.race([given(rows), over]))
    },
  })
}
