// Process warnings about settled entries of the inbox.
import { maxWarnings, noMore, warn } from '../foundation/warn.ts'
import { printable, type SettledObserved } from './observe.ts'

/** Milliseconds; shorter waits are over before anybody reads of them. */
const minWait = 1_000

/** Warns of each dead letter and, in development, of each entry that waits for its next attempt. */
export function settledWarnings(): (
  seen: SettledObserved,
  isDevelopment: boolean,
  place?: string,
) => void {
  let retries = 0
  return (seen, isDevelopment, place) => {
    if (seen.state === 'dead') return warn(deadLetter(seen, place), 'DEAD_LETTER')
    if (seen.state !== 'retry' || !seen.dueAt || !isDevelopment) return
    const wait = seen.dueAt.getTime() - seen.at.getTime()
    if (wait < minWait || ++retries > maxWarnings) return
    const last = retries === maxWarnings ? noMore('RETRY_WAITS') : ''
    warn(`${waiting(seen, wait, place)}${last}`, 'RETRY_WAITS')
  }
}

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

/** The place is printed if a shell reads it as it is. */
const command = (action: string, entryId: string, place = '') =>
  `npx idv-webhooks inbox ${action} ${entryId} --inbox ${/^\/[\w@+=:,./-]+$/.test(place) ? place : '<file or address>'}`

const about = (name: string | undefined) => (name === undefined ? '' : ` (${printable(name)})`)

/** "4 s", "1 min 40 s", "2 h 5 min". */
function spanOf(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000)
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  const parts =
    hours > 0 ? [`${hours} h`, `${minutes} min`] : [`${minutes} min`, `${seconds % 60} s`]
  return parts.filter((part) => !part.startsWith('0 ')).join(' ')
}
