// The names and addresses of this machine.

const names = /^(localhost|[\w-]+(\.[\w-]+)*\.localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/i
const addresses = /^(?:127(?:\.\d{1,3}){3}|\[?::1\]?|::ffff:127(?:\.\d{1,3}){3})(?::\d+)?$/i

/** Whether a host name without a port always leads to this machine, so no web page can rebind it. */
export function isLoopback(name: string): boolean {
  return names.test(name)
}

/** Whether an address is one of this machine, with or without a port. */
export function isLoopbackAddress(address: string): boolean {
  return addresses.test(address)
}
