#!/usr/bin/env node
// The executable: says one line on a Node below the floor, and loads nothing before it has looked.
// Old syntax only, and no import at its head: what an old Node cannot read it could not refuse.
const version = process.versions.node.split('.').map(Number)
const major = version[0] || 0
const minor = version[1] || 0

if (major > 22 || (major === 22 && minor >= 18)) {
  import('./main.ts').then((cli) => cli.main())
} else {
  console.error(`idv-webhooks needs Node 22.18 or newer, and this is ${process.versions.node}`)
  process.exitCode = 1
}
