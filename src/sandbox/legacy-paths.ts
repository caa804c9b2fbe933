// The older paths of section 9: which canonical ones they stand for, and what every answer on them
// says, a refusal too.

/** The canonical paths, each with its older one. */
export const legacyPaths: Readonly<Record<string, string>> = {
  '/verifications': '/requests',
  '/verifications/{id}': '/requests/{id}',
}

const legacy = /^\/requests(?=\/[^/]*$|$)/

/** The canonical form of a path below the API's base; one that is no older one stays. */
export function canonicalPath(path: string): string {
  return path.replace(legacy, '/verifications')
}

/** RFC 9745 and RFC 8594: deprecated, and where the successor is; undefined on other paths. */
export function deprecation(base: string, path: string): Readonly<Record<string, string>> {
  if (!legacy.test(path)) return {}
  const successor = `${base}${canonicalPath(path)}`
  return { deprecation: '@1735689600', link: `<${successor}>; rel="successor-version"` }
}
