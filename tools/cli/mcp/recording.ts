// A session whose output is collected as values instead of being printed.
import type { Output } from '../output.ts'
import type { CliLine } from '../records/by-command.ts'
import type { Session } from '../session.ts'

/** The result of a command: its lines of --json, and what it says to people. */
export interface Recorded {
  /** Whether the command would exit with 0. */
  readonly ok: boolean
  readonly lines: readonly CliLine[]
  readonly notes: readonly string[]
}

/** Runs the inside of a command. */
export async function record(
  session: Session,
  run: (session: Session) => Promise<number>,
): Promise<Recorded> {
  const lines: CliLine[] = []
  const notes: string[] = []
  const out: Output = {
    json: true,
    terminal: false,
    data: () => {},
    record: (line) => lines.push(line),
    say: (line) => notes.push(line),
    progress: () => {},
    paint: (_, text) => text,
    tint: (_, text) => text,
  }
  const ending = { exitCode: 0 } as const
  const exitCode = await run({ ...session, out, ending: { ...ending } })
  return { ok: exitCode === 0, lines, notes }
}
