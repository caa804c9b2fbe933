// Configuration that the server wrote into the document: the address of the routes, and the token.
import type { PageConfig } from '../page.ts'

function read(): PageConfig & { readonly token: string } {
  const content = document.querySelector<HTMLMetaElement>('meta[name="idv-console"]')?.content
  return JSON.parse(content ?? '{}')
}

export const config = read()
