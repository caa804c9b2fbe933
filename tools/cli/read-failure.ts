// Says why a file that was named in a call could not be read, and what to do.

/** The rest of a sentence that begins with the file's name. */
export function readFailure(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'does not exist: check the path'
  if (code === 'EISDIR') return 'is a folder: name a file in it'
  return `cannot be read (${code ?? 'unknown error'}): check that this user may read it`
}
