// A TCP proxy in place of your database's own: a load balancer, a sidecar.
import { connect, createServer } from 'node:net'

const { TARGET = 'postgres:5432', PORT = '6432' } = process.env
const [host = '', port] = TARGET.split(':')

createServer((client) => {
  const upstream = connect(Number(port), host)
  client.pipe(upstream).pipe(client)
  for (const [one, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    one.on('error', () => other.destroy()).on('close', () => other.destroy())
  }
}).listen(Number(PORT), () => console.log('ready'))
