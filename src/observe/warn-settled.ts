// Process warnings about what an attempt at an entry of the inbox came to.
import { maxWarnings, noMore, warn } from '../foundation/warn.ts'
import { printable, type SettledObserved } from './observe.ts'

/** The most dead letters that one receiver remembers. */
const most = 100

/** Milliseconds: a shorter wait is over before anybody has read of it. */
const shortWait = 1_000

/** Warns of each dead letter and, in development, of each entry that waits for its next attempt. */
export function settledWarnings(): (
  seen: SettledObserved,
  isDevelopment: boolean,
  place?: string,
) => void {
  const died = new Set<string>()
  let retries = 0
  return (seen, isDevelopment, place) => {
    if (seen.state === 'dead') {
      const again = isDevelopment && died.has(seen.entryId) ? `. ${diedAgain}` : ''
      if (died.size < most) died.add(seen.entryId)
      return warn(`${deadLetter(seen, place)}${again}`, 'DEAD_LETTER')
    }
    if (seen.state !== 'retry' || !seen.dueAt || !isDevelopment) return
    const wait = seen.dueAt.getTime() - seen.at.getTime()
    if (wait < shortWait || ++retries > maxWarnings) return
    const last = retries === maxWarnings ? noMore('RETRY_WAITS') : ''
    warn(`${waiting(seen, wait, place)}${last}`, 'RETRY_WAITS')
  }
}

const diedAgain =
  'It died again after a redrive: if its handler was edited meanwhile, the process may still run the old one. next dev loads an edited file at the next request to its route, other programs when they start again'

function deadLetter(
  { entryId, name, reason, attempt }: SettledObserved,
  place: string | undefined,
): string {
  const attempts = attempt === 1 ? '1 attempt' : `${attempt} attempts`
  return `entry ${entryId}${about(name)} is a dead letter: ${reason} after ${attempts}. Look at it with ${command('show', entryId, place)}; after the fix, ${command('redrive', entryId, place)} runs it again`
}

function waiting(
  { entryId, name, attempt }: SettledObserved,
  wait: number,
  place: string | undefined,
): string {
  return `entry ${entryId}${about(name)} failed at attempt ${attempt}: the next attempt is due in ${spanOf(wait)}, and later events of the same entity wait for it. After the fix, ${command('redrive', entryId, place)} runs it at once`
}

const command = (action: string, entryId: string, place: string | undefined) =>
  `npx idv-webhooks inbox ${action} ${entryId} --inbox ${inShell(place) ?? '<file or address>'}`

/** A path as an argument; undefined for anything else, and for what could not be pasted. */
function inShell(place: string | undefined): string | undefined {
  if (place === undefined || printable(place) !== place) return undefined
  if (/^[A-Za-z]:\\|^\\\\/.test(place)) return `"${place}"`
  if (!place.startsWith('/')) return undefined
  return /^[\w@+=:,./-]+$/.test(place) ? place : `'${place.replaceAll("'", "'\\''")}'`
}

const about = (name: string | undefined) => (name === undefined ? '' : ` (${printable(name)})`)

/** "4 s", "1 min 40 s", "2 h 5 min". */
function spanOf(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  const parts =
    hours > 0 ? [`${hours} h`, `${minutes} min`] : [`${minutes} min`, `${seconds % 60} s`]
  return parts.filter((part) => !part.startsWith('0 ')).join(' ')
}
