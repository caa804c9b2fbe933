// The names of this machine: they resolve to loopback everywhere, so no web page can rebind them.

const names = /^(localhost|[\w-]+(\.[\w-]+)*\.localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i

/** Whether a host name without a port always leads to this machine. */
export function isLoopback(name: string): boolean {
  return names.test(name)
}
