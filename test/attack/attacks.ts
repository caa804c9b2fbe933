// The attacks, each with what it measures and the bounds that it must keep.
import { type Bomb, explode } from './bombs.ts'
import { type FloodOptions, flood } from './flood.ts'
import { crumbling, dripping, endless, garbage, idle, lying, type Stranger } from './sockets.ts'
import { type Framework, startTarget, type Target, type TargetOptions } from './target.ts'

export interface Finding {
  readonly attack: string
  readonly framework: Framework
  readonly figures: readonly Figure[]
}

export interface Figure {
  readonly what: string
  readonly value: number
  readonly atMost?: number
  readonly atLeast?: number
  /** Time that the machine works; other times are deadlines. */
  readonly isWork?: boolean
}

/** The figures beyond their bounds, for a machine that takes `slowness` times as long. */
export function broken({ figures }: Finding, slowness = 1): Figure[] {
  return figures.filter(
    ({ value, atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY, isWork }) =>
      !(value <= (isWork ? atMost * slowness : atMost) && value >= atLeast),
  )
}

interface Setting extends TargetOptions {
  /** Megabytes that the attack may cost; 60, which is the bound of one body, by default. */
  readonly memory?: number
  /** Milliseconds for which it may keep the event loop; 50 by default. */
  readonly stall?: number
}

/** Runs one attack on a fresh server. */
async function against(
  framework: Framework,
  { memory = 60, stall = 50, ...options }: Setting,
  attack: (target: Target) => Promise<Figure[]>,
): Promise<Figure[]> {
  const target = await startTarget(framework, options)
  try {
    const before = await target.stats()
    const figures = await attack(target)
    const after = await target.stats()
    return [
      ...figures,
      { what: 'stall, ms', value: after.stall, atMost: stall, isWork: true },
      { what: 'memory, MB', value: after.peak - before.peak, atMost: memory },
    ]
  } catch (error) {
    // A server that no longer answers has been brought down.
    return [{ what: `no answer (${(error as Error).message})`, value: 1, atMost: 0 }]
  } finally {
    await target.stop()
  }
}

/** The genuine delivery that took least of three, all of which must be answered with 2xx. */
async function genuine(target: Target): Promise<Figure[]> {
  const all = [await target.deliver(), await target.deliver(), await target.deliver()]
  return [
    { what: 'genuine answered 2xx, of 3', value: count2xx(all), atLeast: 3 },
    {
      what: 'genuine, ms',
      value: Math.min(...all.map(({ took }) => took)),
      atMost: 100,
      isWork: true,
    },
  ]
}

function count2xx(all: readonly { readonly status: number }[]): number {
  return all.filter(({ status }) => status >= 200 && status < 300).length
}

/** The milliseconds until the last stranger was cut off; infinite where one never was. */
async function longest(strangers: readonly Stranger[], most: number): Promise<number> {
  const giveUp = new Promise<number>((resolve) => {
    setTimeout(() => resolve(Number.POSITIVE_INFINITY), most).unref()
  })
  const lives = await Promise.all(strangers.map(({ closed }) => Promise.race([closed, giveUp])))
  for (const { socket } of strangers) socket.destroy()
  return Math.max(...lives)
}

export async function bombed(framework: Framework, bomb: Bomb): Promise<Finding> {
  // Ten at once hold ten bodies.
  const options = {
    ...(bomb.scheme && { scheme: bomb.scheme }),
    ...(bomb.times && { memory: 120 }),
  }
  const figures = await against(framework, options, async (target) => {
    const statuses = await explode(target, bomb)
    await target.idle()
    const refused = statuses.filter((status) => status === 401 || status === 503).length
    return [
      { what: 'refused', value: refused, atLeast: bomb.times ?? 1 },
      ...(await genuine(target)),
    ]
  })
  return { attack: `bomb: ${bomb.name}`, framework, figures }
}

/** Next takes a millisecond or two for each of many requests that arrive or end at the same time. */
const ofMany = (framework: Framework) => (framework === 'next' ? 250 : 50)

const deadlineOf = ({ bodyTimeout = 10_000 }: TargetOptions) => bodyTimeout + 2_500

export async function idled(framework: Framework, options: TargetOptions = {}): Promise<Finding> {
  const stall = ofMany(framework)
  const figures = await against(framework, { ...options, stall }, async (target) => {
    const strangers = await Promise.all(Array.from({ length: 80 }, () => idle(target)))
    const meanwhile = await genuine(target)
    const gone = await longest(strangers, deadlineOf(options) * 2)
    return [...meanwhile, { what: 'all cut off, ms', value: gone, atMost: deadlineOf(options) }]
  })
  return { attack: '80 idle sockets, made-up signatures', framework, figures }
}

export async function lied(framework: Framework, options: TargetOptions = {}): Promise<Finding> {
  const stall = ofMany(framework)
  const figures = await against(framework, { ...options, stall }, async (target) => {
    const strangers = await Promise.all([
      ...Array.from({ length: 40 }, () => dripping(target)),
      ...Array.from({ length: 40 }, () => lying(target, 1_048_576, 100)),
    ])
    const meanwhile = await genuine(target)
    const gone = await longest(strangers, deadlineOf(options) * 2)
    return [...meanwhile, { what: 'all cut off, ms', value: gone, atMost: deadlineOf(options) }]
  })
  return { attack: '80 dripping and lying bodies', framework, figures }
}

export async function crumbled(
  framework: Framework,
  options: TargetOptions = {},
): Promise<Finding> {
  // Node's parser takes a microsecond for each chunk, and reads 10,000 of them at once.
  const setting = { ...options, stall: 400 }
  const figures = await against(framework, setting, async (target) => {
    const strangers = await Promise.all([1, 2, 3].map(() => crumbling(target, 1_000_000)))
    await target.idle()
    const meanwhile = await genuine(target)
    const gone = await longest(strangers, deadlineOf(options) * 2)
    return [...meanwhile, { what: 'all cut off, ms', value: gone, atMost: deadlineOf(options) }]
  })
  return { attack: '3 bodies in chunks of one byte', framework, figures }
}

export async function endlessly(framework: Framework, signed: boolean): Promise<Finding> {
  // Discarded bytes wait for the collector: hundreds of megabytes in ten seconds.
  const figures = await against(framework, { memory: 120 }, async (target) => {
    const attack = endless(target, { signed, most: 15_000 })
    const meanwhile = await genuine(target)
    const { lived, sent } = await attack
    return [
      ...meanwhile,
      { what: 'cut off, ms', value: lived, atMost: 12_000 },
      { what: 'taken, MB', value: sent / 1e6 },
    ]
  })
  const what = signed ? 'with a made-up signature' : 'without a signature'
  return { attack: `an endless body ${what}`, framework, figures }
}

export async function flooded(framework: Framework, options: FloodOptions): Promise<Finding> {
  // A Request of the web and its stream are garbage of kilobytes each, which waits for its collection.
  const memory = framework === 'hono' || framework === 'next' ? 250 : 120
  const figures = await against(framework, { memory, stall: ofMany(framework) }, async (target) => {
    const { sent, perSecond, statuses, genuine: all } = await flood(target, options)
    await garbage(target, 300)
    const slowest = Math.max(...all.map(({ took }) => took))
    return [
      { what: 'sent', value: sent },
      { what: 'a second', value: perSecond },
      { what: 'refused with 401, %', value: ((statuses[401] ?? 0) / sent) * 100, atLeast: 99 },
      { what: 'genuine meanwhile', value: all.length, atLeast: 1 },
      { what: 'of these not 2xx', value: all.length - count2xx(all), atMost: 0 },
      { what: 'slowest genuine, ms', value: slowest, atMost: 1_000 },
      ...(await genuine(target)),
    ]
  })
  return { attack: 'a flood of forgeries, then garbage', framework, figures }
}
