// The built sandbox in a process of its own, to be killed: prints where it listens.
import { createSandbox } from 'idv-webhooks/sandbox'

const sandbox = await createSandbox({ data: String(process.argv[2]), rateLimit: false })
console.log((await sandbox.listen()).url)
