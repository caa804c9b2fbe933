// The inbox's console.
/** @jsxImportSource preact */
export function InboxConsole() {
  return null
}
