// The console's front end: the sandbox's pages or the inbox's, as the server says.
/** @jsxImportSource preact */
import { render } from 'preact'
import { config } from './call.ts'
import { InboxConsole } from './inbox/console.tsx'
import { SandboxConsole } from './sandbox/console.tsx'

const root = document.querySelector('#app')
if (root) render(config.door === 'sandbox' ? <SandboxConsole /> : <InboxConsole />, root)
