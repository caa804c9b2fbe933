// A global `Promise` of the application's own, as zone.js and Bluebird put in the place of the
// native one: async functions and WebCrypto give native promises all the same.

const Native = globalThis.Promise

type Start<Value> = ConstructorParameters<typeof Promise<Value>>[0]

/** Not a subclass, and with no more than what ES2018 had. */
class OwnPromise<Value> implements PromiseLike<Value> {
  readonly #native: Promise<Value>

  constructor(start: Start<Value>) {
    this.#native = new Native(start)
  }

  // biome-ignore lint/suspicious/noThenProperty: it is a promise.
  then<Kept = Value, Failed = never>(
    kept?: ((value: Value) => Kept | PromiseLike<Kept>) | null,
    failed?: ((error: unknown) => Failed | PromiseLike<Failed>) | null,
  ): OwnPromise<Kept | Failed> {
    return OwnPromise.resolve(this.#native.then(kept, failed))
  }

  catch<Failed>(failed: (error: unknown) => Failed | PromiseLike<Failed>) {
    return this.then(undefined, failed)
  }

  finally(ended: () => void) {
    return OwnPromise.resolve(this.#native.finally(ended))
  }

  static resolve<Value>(value?: Value | PromiseLike<Value>): OwnPromise<Value> {
    if (value instanceof OwnPromise) return value
    return new OwnPromise((resolve) => resolve(value as Value))
  }

  static reject(error: unknown): OwnPromise<never> {
    return new OwnPromise((_, reject) => reject(error))
  }

  static all<Value>(values: Iterable<Value>) {
    return OwnPromise.resolve(Native.all(values))
  }

  static race<Value>(values: Iterable<Value>) {
    return OwnPromise.resolve(Native.race(values))
  }

  /** As Bluebird's: the results are objects of another form. */
  static allSettled<Value>(values: Iterable<Value>) {
    const inspected = [...values].map((one) => OwnPromise.resolve(one).finally(() => {}))
    const seen = inspected.map((one) => one.then(...[() => ({}), () => ({})]))
    return OwnPromise.all(seen)
  }
}

/** Runs `work` with the global `Promise` replaced. */
export async function underOwnPromise<Value>(work: () => Promise<Value>): Promise<Value> {
  globalThis.Promise = OwnPromise as never
  try {
    return await work()
  } finally {
    globalThis.Promise = Native
  }
}
