// A text as the value of an option, which is not empty.
import { InvalidArgumentError } from 'commander'

/** A variable of the shell that is not set would mean everything. */
export function someText(text: string): string {
  if (text.trim() !== '') return text
  throw new InvalidArgumentError('It is empty: leave the option out, or pass a text.')
}
