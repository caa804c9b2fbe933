// A proxy before a server of Postgres that loses answers, or everything, or leads to another server.
import { connect, createServer, type Socket } from 'node:net'

/** How a proxy harms what passes it. */
export interface FaultProxy {
  readonly url: string
  /**
   * Lets the next request that holds this text through, and cuts its connection instead of the
   * answer: the client cannot know whether the server carried it out.
   */
  loseAnswerTo(text: string): void
  /** From now on nothing passes and nothing is closed, as when a machine has vanished. */
  swallow(isSwallowing: boolean): void
  /** From now on nothing passes; what was held passes late, when that ends. */
  hold(isHolding: boolean): void
  /** From now on nothing passes or is closed, and new connections are refused. */
  vanish(): void
  /** Resets every connection, as a machine that crashed does. */
  reset(): void
  /** Cuts every connection; new ones lead to this server. */
  retarget(url: string): void
  /** Answers that were lost. */
  readonly lost: number
}

/** A proxy on a free loopback port; `atEnd` takes what closes it. */
export async function startProxy(
  target: string,
  atEnd: (close: () => void) => unknown,
): Promise<FaultProxy> {
  let { port } = new URL(target)
  const open = new Set<Socket>()
  let losing: string | undefined
  let lost = 0
  let swallows = false
  let holds = false
  const server = createServer((client) => {
    const upstream = connect(Number(port), '127.0.0.1')
    let isCut = false
    for (const socket of [client, upstream]) {
      open.add(socket)
      if (holds) socket.pause()
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => {
      if (swallows) return
      if (losing !== undefined && chunk.includes(losing)) {
        losing = undefined
        isCut = true
      }
      upstream.write(chunk)
    })
    upstream.on('data', (chunk) => {
      if (swallows) return
      if (!isCut) return void client.write(chunk)
      lost++
      client.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => {
    for (const socket of open) socket.destroy()
    server.close()
  })
  const address = server.address()
  const url = new URL(target)
  url.port = String(typeof address === 'object' && address ? address.port : 0)
  return {
    url: url.href,
    loseAnswerTo: (text) => {
      losing = text
    },
    swallow: (isSwallowing) => {
      swallows = isSwallowing
    },
    hold: (isHolding) => {
      holds = isHolding
      for (const socket of open) isHolding ? socket.pause() : socket.resume()
    },
    vanish: () => {
      swallows = true
      server.close()
    },
    reset: () => {
      for (const socket of open) socket.resetAndDestroy()
    },
    retarget: (url) => {
      port = new URL(url).port
      for (const socket of open) socket.destroy()
    },
    get lost() {
      return lost
    },
  }
}
