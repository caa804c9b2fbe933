// The names and addresses of this machine.

const names = /^(localhost|[\w-]+(\.[\w-]+)*\.localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i
const addresses = /^(?:127(?:\.\d{1,3}){3}|\[?::1\]?|::ffff:127(?:\.\d{1,3}){3})(?::\d+)?$/i

/**
 * Tells a host name, without its port, that always leads to this machine, so that no web page can
 * rebind it.
 */
export function isLoopback(name: string): boolean {
  return names.test(name)
}

/** Tells an address of this machine, with or without a port. */
export function isLoopbackAddress(address: string): boolean {
  return addresses.test(address)
}
