// The base paths of the sandbox, and the legacy paths of section 9.

/** The path of the API, with the version segment of section 9. */
export const apiPath = '/v2/api'
export const controlPath = '/_sandbox'
export const consolePath = '/_console'
/** The path of the subject's page; the token follows. */
export const subjectPath = '/verify/'

/** The canonical paths, each with its legacy one. */
export const legacyPaths: Readonly<Record<string, string>> = {
  '/verifications': '/requests',
  '/verifications/{id}': '/requests/{id}',
}

const legacy = /^\/requests(?=\/[^/]*$|$)/

/** The canonical form of a path below the API's base; other paths stay as they are. */
export function canonicalPath(path: string): string {
  return path.replace(legacy, '/verifications')
}

/** The headers of every answer on a legacy path, errors too (RFC 9745 and RFC 8288). */
export function deprecation(path: string): Readonly<Record<string, string>> {
  if (!legacy.test(path)) return {}
  const link = `<${apiPath}${canonicalPath(path)}>; rel="successor-version"`
  return { deprecation: '@1735689600', link }
}
