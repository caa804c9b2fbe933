// Where words go: data to stdout, people's text to stderr, one JSON object a line under --json.
// Colour and progress only at a terminal; what comes from outside cannot steer the terminal.
import { styleText } from 'node:util'
import type { CliLine } from './records/by-command.ts'

/** A stream as process has them. */
export type TextStream = NodeJS.WriteStream

export type Style = Parameters<typeof styleText>[0]

/** What a command speaks through. */
export interface Output {
  readonly json: boolean
  /** Data for people, on stdout; silent under --json. */
  data(line: string): void
  /** Data for programs, on stdout; silent without --json. */
  record(line: CliLine): void
  /** Text for people, on stderr. */
  say(line: string): void
  /** A line at the terminal that the next one replaces; nothing elsewhere. */
  progress(line: string): void
  /** Colours a piece of data; what is not a terminal gets it plain. */
  paint(style: Style, text: string): string
  /** The same for text on stderr. */
  tint(style: Style, text: string): string
}

/** What an output is made of. */
export interface OutputOptions {
  readonly stdout: TextStream
  readonly stderr: TextStream
  readonly json: boolean
  /** False for --no-color. */
  readonly color: boolean
}

const clearLine = '\r\u001b[2K'

export function createOutput({ stdout, stderr, json, color }: OutputOptions): Output {
  let transient = false
  const styled = (stream: TextStream, style: Style, text: string) =>
    color ? styleText(style, text, { stream }) : text
  const settle = () => {
    if (transient) stderr.write(clearLine)
    transient = false
  }
  const write = (line: string) => {
    settle()
    stdout.write(`${line}\n`)
  }
  return {
    json,
    data: (line) => {
      if (!json) write(line)
    },
    record: (record) => {
      if (json) write(JSON.stringify(record))
    },
    say: (line) => {
      settle()
      stderr.write(`${line}\n`)
    },
    progress: (line) => {
      if (!stderr.isTTY || json) return
      stderr.write(`${clearLine}${line.slice(0, (stderr.columns || 80) - 1)}`)
      transient = true
    },
    paint: (style, text) => styled(stdout, style, text),
    tint: (style, text) => styled(stderr, style, text),
  }
}

/** Text from outside with its control characters made visible, so that it cannot move a cursor. */
export function printable(text: string): string {
  return text.replaceAll(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not get through
    /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** "1 file", "3 files". */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${many} ${many === 1 ? one : more}`
}
