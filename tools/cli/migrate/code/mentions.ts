// Legacy names in files that are only searched.
import { namesIn } from '../legacy.ts'
import type { Finding } from './finding.ts'
import { ignoresItself } from './ignore-comments.ts'

const advice = 'not renamed automatically: rename it if it is read by a program or shown to people'

/** Every exact legacy name of a text, with its place. */
export function mentionsIn(text: string): readonly Finding[] {
  if (ignoresItself(text)) return []
  const lines = text.split(/\r\n|[\n\r\u2028\u2029]/)
  return lines.flatMap((line, at) => {
    const isIgnored = [line, lines[at - 1] ?? ''].some((one) => /\bidv-webhooks-ignore\b/.test(one))
    if (isIgnored) return []
    return namesIn(line).map(
      ({ name, index }): Finding => ({
        kind: 'mention',
        line: at + 1,
        column: index + 1,
        text: `'${name}'`,
        suggestion: advice,
      }),
    )
  })
}
