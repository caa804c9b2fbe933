// The program of the writer's thread. Run from source it loads a file; the build replaces this file
// with the program as text, so that no bundler has to find a file beside its own output.

export function writerScript(): string {
  return `import(${JSON.stringify(new URL('./sqlite-writer.ts', import.meta.url))})`
}
