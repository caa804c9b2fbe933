// A coverage-guided fuzzer in one process: an input that reaches a branch that no other reached, or
// reaches it in another magnitude, joins the corpus and is mutated further.

export type Target = (data: Uint8Array) => unknown

export interface FuzzOptions {
  /** A counter for each branch, and up to three more: a whole number of words. */
  readonly counts: Uint8Array
  readonly seeds: readonly Uint8Array[]
  readonly dictionary: readonly string[]
  readonly runs: number
  /** Milliseconds after which it ends, however many runs were made. */
  readonly most: number
  readonly seed?: number
}

export interface Finding {
  readonly input: Uint8Array
  readonly error: unknown
}

export interface FuzzReport {
  readonly runs: number
  readonly corpus: readonly Uint8Array[]
  readonly covered: number
  readonly finding?: Finding
}

const longest = 4_096
const slowest = 2_000

export async function fuzz(target: Target, options: FuzzOptions): Promise<FuzzReport> {
  const { counts, seeds, dictionary, runs, most, seed = Date.now() } = options
  const random = generator(seed)
  const seen = new Uint8Array(counts.length)
  const corpus: Uint8Array[] = []
  const words = dictionary.map((word) => new TextEncoder().encode(word))
  const end = performance.now() + most
  let done = 0
  const report = (finding?: Finding): FuzzReport => {
    const covered = seen.reduce((sum, bits) => sum + (bits > 0 ? 1 : 0), 0)
    return { runs: done, corpus, covered, ...(finding && { finding }) }
  }
  const queue = seeds.length > 0 ? [...seeds] : [new Uint8Array()]
  while (done < runs && performance.now() < end) {
    const input = queue.shift() ?? mutated(corpus, words, random)
    counts.fill(0)
    const start = performance.now()
    try {
      const result = target(input)
      if (result instanceof Promise) await result
    } catch (error) {
      return report({ input, error })
    }
    done++
    if (performance.now() - start > slowest) {
      return report({ input, error: new Error(`took longer than ${slowest} ms`) })
    }
    if (isNews(counts, seen) || corpus.length === 0) corpus.push(input)
  }
  return report()
}

/** Whether a branch ran that never had, or more often than ever by the next power of two. */
function isNews(counts: Uint8Array, seen: Uint8Array): boolean {
  let news = false
  // Most branches are not reached by most inputs: four of them are passed over at a time.
  const fours = new Uint32Array(counts.buffer, counts.byteOffset, counts.length >> 2)
  for (let four = 0; four < fours.length; four++) {
    if (fours[four] === 0) continue
    for (let at = four * 4; at < four * 4 + 4; at++) {
      const count = counts[at] ?? 0
      if (count === 0) continue
      const bit = 1 << Math.min(7, 31 - Math.clz32(count))
      const known = seen[at] ?? 0
      if ((known & bit) === 0) {
        seen[at] = known | bit
        news = true
      }
    }
  }
  return news
}

type Random = (below: number) => number

/** xorshift: the same seed makes the same inputs. */
function generator(seed: number): Random {
  let state = seed | 0 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

function mutated(corpus: readonly Uint8Array[], words: readonly Uint8Array[], random: Random) {
  // Newer inputs reached what is least explored.
  const recent = random(2) === 0 ? Math.max(0, corpus.length - 16) : 0
  const from = corpus[recent + random(Math.max(1, corpus.length - recent))] ?? new Uint8Array()
  let data = from
  for (let times = 1 + random(6); times > 0; times--) data = once(data, { corpus, words, random })
  return data.length > longest ? data.subarray(0, longest) : data
}

interface Material {
  readonly corpus: readonly Uint8Array[]
  readonly words: readonly Uint8Array[]
  readonly random: Random
}

function once(data: Uint8Array, { corpus, words, random }: Material): Uint8Array {
  const at = random(data.length + 1)
  const to = Math.min(data.length, at + 1 + random(8))
  const other = corpus[random(Math.max(1, corpus.length))] ?? data
  switch (random(8)) {
    case 0:
      return data.map((byte, index) => (index === at ? byte ^ (1 << random(8)) : byte))
    case 1:
      return data.map((byte, index) => (index === at ? random(256) : byte))
    case 2:
      return joined(data.subarray(0, at), Uint8Array.of(32 + random(95)), data.subarray(at))
    case 3:
      return joined(data.subarray(0, at), data.subarray(to))
    case 4:
      return joined(data.subarray(0, to), data.subarray(at))
    case 5:
      return joined(data.subarray(0, at), other.subarray(random(other.length + 1)))
    case 6:
      return joined(data.subarray(0, at), other.subarray(0, random(64)), data.subarray(to))
    default: {
      const word = words[random(Math.max(1, words.length))] ?? new Uint8Array()
      return joined(data.subarray(0, at), word, data.subarray(random(2) === 0 ? at : to))
    }
  }
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}
