// Objects without undefined values: an optional key is absent.

type Defined<Value> = {
  [Key in keyof Value as undefined extends Value[Key] ? never : Key]: Value[Key]
} & {
  [Key in keyof Value as undefined extends Value[Key] ? Key : never]?: Exclude<
    Value[Key],
    undefined
  >
}

/** A copy without the keys whose value is undefined. */
export function defined<Value extends object>(value: Value): Defined<Value> {
  const copy: Record<string, unknown> = {}
  for (const key in value) {
    if (value[key] !== undefined) copy[key] = value[key]
  }
  // Trust is granted here: exactly the keys that the type calls optional may be missing.
  return copy as Defined<Value>
}
