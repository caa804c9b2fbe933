// Invitations and results over SMTP. The library is loaded when the first mail is sent, so that
// nobody pays for it who only reads the outbox.
import type { Transporter } from 'nodemailer'
import type { Mailer } from './outbox.ts'

const from = 'Identity Verification Sandbox <sandbox@idv.example>'

/** Test servers on the same machine offer STARTTLS with certificates that nobody has signed. */
const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** The host of an SMTP address, without its password. */
export const smtpHost = (url: string): string => new URL(url).host || 'localhost'

/** A mailer for an SMTP address, e.g. `smtp://127.0.0.1:1025`. */
export function smtpMailer(url: string): Mailer {
  let transporter: Promise<Transporter> | undefined
  return async ({ to, subject, text }) => {
    transporter ??= import('nodemailer').then(({ createTransport }) =>
      createTransport({ url, ignoreTLS: loopback.test(new URL(url).hostname) }),
    )
    await (await transporter).sendMail({ from, to, subject, text })
  }
}
