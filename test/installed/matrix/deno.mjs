import { serve } from './receiver.mjs'

const onListen = ({ port }) => console.log(`port: ${port}`)
Deno.serve({ port: 0, hostname: '127.0.0.1', onListen }, serve)
