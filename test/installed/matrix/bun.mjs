import { serve } from './receiver.mjs'

const { port } = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serve })
console.log(`port: ${port}`)
