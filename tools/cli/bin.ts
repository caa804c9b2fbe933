#!/usr/bin/env node
// The executable: refuses a Node that is too old before anything else is loaded.
// Old syntax only and no static import, so that an old Node can run it.
const version = process.versions.node.split('.').map(Number)
const major = version[0] || 0
const minor = version[1] || 0

if (major > 22 || (major === 22 && minor >= 18)) {
  import('./main.ts').then((cli) => cli.main())
} else {
  console.error(
    `idv-webhooks needs Node 22.18 or newer, and this is ${process.versions.node}: install a newer one (https://nodejs.org), or put it first in PATH`,
  )
  process.exitCode = 1
}
