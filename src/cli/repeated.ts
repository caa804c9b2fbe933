// An option that may be given several times.

/** Collects what an option is given, in its order. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}
