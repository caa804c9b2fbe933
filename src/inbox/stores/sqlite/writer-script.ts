// The program of the writer's thread. Run from source it is a file; the build replaces this file
// with the program as text, so that no bundler has to find a file beside its own output.

/** A program for a thread: a file's address, or the text itself. */
export type WriterScript = { readonly file: URL } | { readonly text: string }

export function writerScript(): WriterScript {
  return { file: new URL('./sqlite-writer.ts', import.meta.url) }
}
