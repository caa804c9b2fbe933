// The console's front end: the sandbox's pages or the inbox's, as the server says.
import { render } from 'preact'
import { InboxConsole } from './inbox/console.tsx'
import { SandboxConsole } from './sandbox/console.tsx'
import { config } from './server.ts'

const root = document.querySelector('#app')
if (root) render(config.door === 'sandbox' ? <SandboxConsole /> : <InboxConsole />, root)
