// The mail that the service would send: invitations (section 4.1) and shared results (section
// 2.3), kept to be read. With a mailer they are sent as well.
import type { Transporter } from 'nodemailer'
import { isLoopback } from '../../src/host/loopback.ts'
import type { Mail } from './schemas/snapshot.ts'

const from = 'Identity Verification Sandbox <sandbox@idv.example>'

/** Hands a mail to a mail server; rejects when the server does not take it. */
export type Mailer = (mail: Mail) => Promise<void>

export class Outbox {
  readonly #mailer: Mailer | undefined
  readonly #onChange: (mail: Mail) => void
  readonly #mails = new Map<string, Mail>()
  readonly #inFlight = new Set<Promise<void>>()

  constructor(mailer: Mailer | undefined, onChange: (mail: Mail) => void) {
    this.#mailer = mailer
    this.#onChange = onChange
  }

  put(mail: Omit<Mail, 'transport'>): void {
    const kept: Mail = { ...mail, transport: this.#mailer ? 'pending' : 'none' }
    this.#keep(kept)
    this.#send(kept)
  }

  list(): Mail[] {
    return [...this.#mails.values()]
  }

  /** Resolves when no mail is on its way to the mail server. */
  async flush(): Promise<void> {
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
  }

  load(mails: readonly Mail[]): void {
    this.#mails.clear()
    for (const mail of mails) {
      this.#mails.set(mail.id, mail)
      if (mail.transport === 'pending') this.#send(mail)
    }
  }

  #keep(mail: Mail): void {
    this.#mails.set(mail.id, mail)
    this.#onChange(mail)
  }

  #send(mail: Mail): void {
    if (!this.#mailer) return
    const sending = this.#mailer(mail).then(
      () => this.#sent(mail, { transport: 'sent' }),
      (error: unknown) => this.#sent(mail, { transport: 'failed', error: String(error) }),
    )
    this.#inFlight.add(sending)
    sending.finally(() => this.#inFlight.delete(sending))
  }

  /** A reset in the meantime has taken the mail away. */
  #sent(mail: Mail, result: Pick<Mail, 'transport' | 'error'>): void {
    if (this.#mails.get(mail.id) === mail) this.#keep({ ...mail, ...result })
  }
}

/** The host of an SMTP address, without its password. */
export const smtpHost = (url: string): string => new URL(url).host || 'localhost'

/** A mailer for an SMTP address, e.g. `smtp://127.0.0.1:1025`. */
export function smtpMailer(url: string): Mailer {
  let transporter: Promise<Transporter> | undefined
  return async ({ to, subject, text }) => {
    // Loaded with the first mail. Test servers on this machine offer STARTTLS with certificates that
    // no authority has signed.
    transporter ??= import('nodemailer').then(({ createTransport }) =>
      createTransport({ url, ignoreTLS: isLoopback(new URL(url).hostname) }),
    )
    await (await transporter).sendMail({ from, to, subject, text })
  }
}
