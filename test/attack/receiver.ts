// The receiver that is attacked: three secrets, refusals logged with their diagnosis.
import { createReceiver, logOutcomes, type ReceiverOptions, schemes } from 'idv-webhooks'

export const secret = 'the-secret-of-the-attacked-receiver'

/** SCHEME: `service` or `timestamped`; BODY_TIMEOUT: milliseconds, the default where missing. */
export function attackedReceiver({ SCHEME, BODY_TIMEOUT }: NodeJS.ProcessEnv = process.env) {
  const options: ReceiverOptions & { readonly bodyTimeout?: number } = {
    secret: [
      { id: 'new', value: secret },
      { id: 'old', value: `${secret}-old`, notAfter: '2020-01-01T00:00:00Z' },
      { id: 'next', value: `${secret}-next` },
    ],
    scheme: schemeOf(SCHEME),
    observe: logOutcomes({ write: (line) => void process.stderr.write(`${line}\n`) }),
    ...(BODY_TIMEOUT && { bodyTimeout: Number(BODY_TIMEOUT) }),
  }
  const receiver = createReceiver(options)
  receiver.on('*', () => {})
  return receiver
}

export function schemeOf(name = 'service') {
  return name === 'timestamped' ? schemes.timestamped() : schemes.service()
}
