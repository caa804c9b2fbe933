// The legacy paths of section 9: the canonical ones that they stand for, and the headers that every
// answer on them has, an error too.

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

/** RFC 9745 and RFC 8288: deprecated, and where the successor is; nothing on other paths. */
export function deprecation(base: string, path: string): Readonly<Record<string, string>> {
  if (!legacy.test(path)) return {}
  const successor = `${base}${canonicalPath(path)}`
  return { deprecation: '@1735689600', link: `<${successor}>; rel="successor-version"` }
}
