// Forgetting in two passes, page by page. The first goes from the end of each entity: it skips what
// is open and erases what is at work, so that no handler begins while the second erases all.

/** An entry by its lane and number. */
export interface Place {
  readonly lane: string
  readonly seq: number
}

/** How many were erased, and the last of the page where there may be another. */
export interface ForgottenPage {
  readonly forgotten: number
  readonly last?: Place | undefined
}

type ForgetPage = (open: boolean, after: Place) => Promise<ForgottenPage>

/** Before every entry, and behind it: fingerprints are letters and digits. */
const [first, last]: readonly [Place, Place] = [
  { lane: '', seq: 0 },
  { lane: '\x7f', seq: Number.MAX_SAFE_INTEGER },
]

/** Resolves with the number of entries that were erased. */
export async function forgetByPages(forget: ForgetPage): Promise<number> {
  const atWork = await forgetAll(last, (after) => forget(true, after))
  return atWork + (await forgetAll(first, (after) => forget(false, after)))
}

async function forgetAll(
  from: Place,
  forget: (after: Place) => Promise<ForgottenPage>,
): Promise<number> {
  let all = 0
  for (let after: Place | undefined = from; after; ) {
    const page: ForgottenPage = await forget(after)
    all += page.forgotten
    after = page.last
  }
  return all
}
