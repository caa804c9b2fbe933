// Forgets in two passes, page by page. The first goes from the end of each lane, skips open entries and
// erases leased ones, so that no handler begins while the second pass erases all.

export interface PagePlace {
  readonly lane: string
  readonly seq: number
}

/** A page: entries behind `after` that existed at the first page. */
export interface ForgetPage {
  /** The first pass, which skips open entries and erases only leased ones. */
  readonly open: boolean
  readonly after: PagePlace
  /** The number of the last entry; the first page finds it. */
  readonly newest?: number | undefined
}

/** The number of erased entries, and the last entry of the page if there may be another page. */
export interface ForgottenPage {
  readonly forgotten: number
  readonly newest: number
  readonly last?: PagePlace | undefined
}

/** Places before and behind every entry: fingerprints are letters and digits. */
const [first, last]: readonly [PagePlace, PagePlace] = [
  { lane: '', seq: 0 },
  { lane: '\x7f', seq: Number.MAX_SAFE_INTEGER },
]

export async function forgetByPages(
  forget: (page: ForgetPage) => Promise<ForgottenPage>,
): Promise<number> {
  let all = 0
  let newest: number | undefined
  for (const open of [true, false]) {
    for (let after: PagePlace | undefined = open ? last : first; after; ) {
      const page: ForgottenPage = await forget({ open, after, newest })
      all += page.forgotten
      newest = page.newest
      after = page.last
    }
  }
  return all
}
