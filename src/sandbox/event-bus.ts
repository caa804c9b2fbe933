// What happens in the sandbox, as it happens, for whoever watches. It keeps nothing.

/** One thing that happened; `data` is JSON. */
export interface Happening {
  readonly type: string
  readonly data: unknown
}

export interface Feed {
  publish(happening: Happening): void
  /** Returns the end of the watching. */
  watch(watcher: (happening: Happening) => void): () => void
  readonly watchers: number
}

export function createFeed(): Feed {
  const watchers = new Set<(happening: Happening) => void>()
  return {
    publish(happening) {
      for (const watcher of watchers) watcher(happening)
    },
    watch(watcher) {
      watchers.add(watcher)
      return () => watchers.delete(watcher)
    },
    get watchers() {
      return watchers.size
    },
  }
}
