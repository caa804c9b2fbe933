// The result of an area: tables of numbers, the columns on which two runs must agree, and the
// targets.

export interface Column {
  readonly key: string
  readonly label: string
  readonly unit: 'us' | 'ms' | 'ratio' | 'kB' | 'MB' | 'count' | 'bytes'
  /** Two runs must agree within this part of the value, or it is not reported. */
  readonly agree?: number
}

export interface Row {
  readonly name: string
  /** Drawn in the chart's own colour. */
  readonly ours?: boolean
  readonly values: Readonly<Record<string, number | undefined>>
}

export interface Target {
  readonly row: string
  readonly column: string
  readonly atLeast?: number
  readonly atMost?: number
}

export interface Section {
  readonly id: string
  readonly title: string
  readonly note?: string
  /** The output of a program, unchanged. */
  readonly text?: string
  readonly columns: readonly Column[]
  readonly rows: readonly Row[]
  readonly targets?: readonly Target[]
  /** The column that the chart shows. */
  readonly chart?: string
}

export interface AreaOptions {
  readonly quick: boolean
  readonly only?: readonly string[]
}

/** A table of docs/performance.md. */
export interface Published {
  /** Names the marks of the table in the page. */
  readonly name: string
  /** The ids of its sections. */
  readonly sections: RegExp
  /** The names of its rows. */
  readonly rows: RegExp
  /** Keys of columns, which have one unit. */
  readonly columns: readonly string[]
}

export interface Area {
  readonly name: string
  readonly published?: readonly Published[]
  /** Runs that one measurement takes; counts and sizes need one. */
  readonly runs: number
  /** Flags of Node for its process. */
  readonly flags?: readonly string[]
  measure(options: AreaOptions): Promise<readonly Section[]>
}

/** A value that runs agree on, with what they found; `value` is missing where they contradict. */
export interface Confirmed {
  readonly value?: number
  readonly found: readonly number[]
}

export function confirm(found: readonly number[], agree: number | undefined): Confirmed {
  const mean = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / list.length
  if (agree === undefined || found.length < 2) return { value: mean(found), found }
  const sorted = [...found].sort((one, two) => one - two)
  // The closest two that agree: a third run decides between two that do not.
  const pairs = sorted.slice(1).map((high, at) => [sorted[at] ?? Number.NaN, high] as const)
  const [pair] = pairs.sort((one, two) => distance(one) - distance(two))
  return pair && distance(pair) <= agree ? { value: mean(pair), found } : { found }
}

function distance([low, high]: readonly [number, number]): number {
  return high === low ? 0 : (high - low) / Math.abs((high + low) / 2)
}

export interface Report extends Omit<Section, 'rows'> {
  readonly rows: readonly {
    readonly name: string
    readonly ours: boolean
    readonly cells: Readonly<Record<string, Confirmed>>
  }[]
}

/** Joins the same section of several runs. */
export function joined(runs: readonly Section[]): Report {
  const [first] = runs
  if (!first) throw new TypeError('joined() needs one run at least')
  const rows = first.rows.map(({ name, ours = false }) => {
    const cells = first.columns.flatMap(({ key, agree }) => {
      const found = runs.flatMap(
        (run) => run.rows.find((row) => row.name === name)?.values[key] ?? [],
      )
      return found.length > 0 ? [[key, confirm(found, agree)] as const] : []
    })
    return { name, ours, cells: Object.fromEntries(cells) }
  })
  return { ...first, rows }
}

export function isContradicted({ rows }: Report): boolean {
  return rows.some(({ cells }) => Object.values(cells).some(({ value }) => value === undefined))
}
