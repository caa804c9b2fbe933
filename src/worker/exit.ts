// The end of a process whose workers obey signals: each vendor has an inbox and so a worker of its own,
// and the first that is done must not cut the others.

const registry = Symbol.for('idv-webhooks.ends')

interface Ends {
  pending: number
  code: number
}

/** One for all copies of this package in a process. */
function endsOfProcess(): Ends {
  const all = globalThis as { [registry]?: Ends }
  all[registry] ??= { pending: 0, code: 0 }
  return all[registry]
}

/** Exits once every end that is under way is done: with 1 where one of them failed. */
export function exitAfter(end: Promise<void>, exit: (code: number) => void): void {
  const ends = endsOfProcess()
  ends.pending += 1
  const done = () => {
    ends.pending -= 1
    // The last replies must be sent before the process ends.
    if (ends.pending === 0) setTimeout(() => exit(ends.code), 20)
  }
  end.then(done, () => {
    ends.code = 1
    done()
  })
}
