// Watches the process that it is in: how long the event loop was kept from everything else, and how
// much memory the process ever took. It answers at a port of its own.
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Stats {
  /** Milliseconds of the main thread's own CPU between two turns of the loop, at the most. */
  readonly stall: number
  /** Megabytes resident at the most, since it was asked to forget. */
  readonly peak: number
  /** Milliseconds of CPU since the process began. */
  readonly cpu: number
}

type Cpu = () => NodeJS.CpuUsage

/** CPU of this thread where Node tells it: another program's turn is then no stall of ours. */
function mainThread(): Cpu {
  const own = (process as { threadCpuUsage?: Cpu }).threadCpuUsage
  return own ? () => own.call(process) : () => process.cpuUsage()
}

const milliseconds = ({ user, system }: NodeJS.CpuUsage) => (user + system) / 1_000

/** Resets the peak of memory, where Linux can: the start of a server takes more than it keeps. */
function forgetPeak(): void {
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {
    // Elsewhere the peak is that of the whole life.
  }
}

/** Starts to watch; resolves with the port at which `fetchStats` asks. */
export function watchLoop(port = 0): Promise<number> {
  const cpu = mainThread()
  let stall = 0
  let last = milliseconds(cpu())
  let lastAt = performance.now()
  const turn = () => {
    const now = milliseconds(cpu())
    const at = performance.now()
    stall = Math.max(stall, Math.min(now - last, at - lastAt))
    last = now
    lastAt = at
  }
  setInterval(turn, 1).unref()
  const server = createServer((request, response) => {
    turn()
    if (request.method === 'DELETE') {
      stall = 0
      forgetPeak()
    }
    const { maxRSS } = process.resourceUsage()
    const stats: Stats = { stall, peak: maxRSS / 1_024, cpu: milliseconds(process.cpuUsage()) }
    response.end(JSON.stringify(stats))
  })
  return new Promise((resolve) => {
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
    server.unref()
  })
}
