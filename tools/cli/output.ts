// Where output goes: data to stdout, messages to stderr, one JSON object per line under --json.
// Color and progress only at a terminal; text from outside cannot control the terminal.
import { styleText } from 'node:util'
import type { CliLine } from './records.ts'

export type TextStream = NodeJS.WriteStream

export type Style = Parameters<typeof styleText>[0]

export interface Output {
  readonly json: boolean
  /** Data for people, on stdout; nothing under --json. */
  data(line: string): void
  /** Data for programs, on stdout; nothing without --json. */
  record(line: CliLine): void
  /** A message for people, on stderr. */
  say(line: string): void
  /** A line at the terminal that the next one replaces; nothing elsewhere. */
  progress(line: string): void
  /** Colors data; plain when stdout is not a terminal. */
  paint(style: Style, text: string): string
  /** Colors a message; plain when stderr is not a terminal. */
  tint(style: Style, text: string): string
}

export interface OutputOptions {
  readonly stdout: TextStream
  readonly stderr: TextStream
  readonly json: boolean
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
    // The escapes are JSON's, so a reader of JSON gets the same text.
    record: (line) => {
      if (json) write(printable(JSON.stringify(line)))
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

/** Control characters, line separators, and marks that reverse or hide text. */
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach the terminal
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g

const escaped = (letter: string) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Text from outside with control and invisible characters escaped. */
export function printable(text: string): string {
  return text.replaceAll(unsafe, escaped)
}

/** Tells whether a text contains a password as connection strings have it: `host=db password=…`. */
export const holdsPassword = (text: string): boolean =>
  /(?:^|[\s;])\w*(?:password|passwd|pwd)\s*=/i.test(text)

/** An http address without the user and the secrets in it. */
export function withoutUser(address: string): string {
  if (!URL.canParse(address)) return '***'
  const url = new URL(address)
  const hasUser = url.username + url.password !== ''
  const shown = hasUser ? url.href.replace(/\/\/[^@]*@/, '//***@') : address
  return shown.replace(/([?&][\w-]*(?:password|passwd|pwd|secret|token|key)=)[^&#]*/gi, '$1***')
}

/** "1 file", "3 files". */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${many} ${many === 1 ? one : more}`
}

/** A duration in its largest unit: "3 days", "40 s". */
export function spanOf(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000)
  if (seconds < 120) return `${seconds} s`
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / (24 * 3600))} days`
}

/** A point in time for people: to the second, in UTC. */
export function stamp(moment: Date): string {
  return moment.toISOString().replace(/\.\d+Z$/, 'Z')
}
