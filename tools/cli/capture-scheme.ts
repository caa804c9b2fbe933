// The scheme that proves a capture: the chosen one, else the file's own. A file may define one under
// any name, so only a definition that is known here is called by its name alone.
import { isDeepStrictEqual } from 'node:util'
import { type Scheme, schemes } from '../../src/index.ts'
import type { NamedCapture } from './capture-files.ts'
import { CliError } from './exit-code.ts'
import { printable } from './output.ts'
import { presetSchemes } from './presets.ts'
import { namedSchemes } from './scheme-option.ts'

export interface CaptureScheme {
  readonly scheme: Scheme
  /** The text that is signed, where nobody but the file defines it. */
  readonly ownSigned?: string | undefined
}

export function schemeOf({ scheme }: NamedCapture, chosen: Scheme | undefined): CaptureScheme {
  if (chosen || scheme === undefined) return { scheme: chosen ?? schemes.service() }
  return { scheme, ownSigned: isKnown(scheme) ? undefined : scheme.signed }
}

/** The scheme as people read it, for one line of the terminal. */
export function labelOf({ scheme, ownSigned }: CaptureScheme): string {
  const name = `scheme ${printable(scheme.name)}`
  if (ownSigned === undefined) return name
  return `${name} as the file itself defines it, over ${printable(JSON.stringify(ownSigned))}; --scheme proves it by yours`
}

/** A shared token is the secret itself: no file chooses that it is given, nor in which header. */
export function needSignature({ file, scheme }: NamedCapture, chosen: Scheme | undefined): void {
  if (chosen || scheme?.authenticity !== 'token') return
  const why = `${printable(file)} names a scheme that sends the secret itself, in the header ${printable(scheme.header)}`
  throw new CliError('USAGE', `${why}: choose its --scheme, if your sender does`)
}

function isKnown(scheme: Scheme): boolean {
  const named = Object.values(namedSchemes).map((make): Scheme => make())
  return [...named, ...presetSchemes()].some((one) => isDeepStrictEqual(plain(one), plain(scheme)))
}

/** As a capture file keeps it. */
function plain(scheme: Scheme): unknown {
  const { addresses: _, ...kept } = scheme
  return JSON.parse(JSON.stringify(kept))
}
