// The mail that the service would send: invitations (section 4.1) and shared results (section
// 2.3), kept to be read. With a mailer they are sent as well.

export interface Mail {
  readonly id: string
  readonly kind: 'invitation' | 'shared_result'
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly verificationId: string
  readonly organizationId: string
  readonly createdAt: string
  /** The subject-facing link of an invitation. */
  readonly link?: string
  /** What a third party gets to see. */
  readonly shared?: Readonly<Record<string, unknown>>
  /** Where the mail stands: only kept, or handed to the mail server. */
  readonly transport: 'none' | 'pending' | 'sent' | 'failed'
  /** Why the mail server did not take it. */
  readonly error?: string
}

/** Hands a mail to a mail server; rejects when the server did not take it. */
export type Mailer = (mail: Mail) => Promise<void>

export interface Outbox {
  put(mail: Omit<Mail, 'transport'>): void
  list(): readonly Mail[]
  /** Resolves when no mail is on its way to the mail server. */
  drain(): Promise<void>
  load(mails: readonly Mail[]): void
}

export function createOutbox(mailer: Mailer | undefined, saved: (mail: Mail) => void): Outbox {
  const mails = new Map<string, Mail>()
  const onTheirWay = new Set<Promise<void>>()

  const keep = (mail: Mail) => {
    mails.set(mail.id, mail)
    saved(mail)
  }
  const send = async (mailer: Mailer, mail: Mail) => {
    const sent = await mailer(mail).then(
      () => ({ transport: 'sent' }) as const,
      (error: unknown) => ({ transport: 'failed', error: String(error) }) as const,
    )
    // A reset in the meantime has taken the mail away.
    if (mails.get(mail.id) === mail) keep({ ...mail, ...sent })
  }
  const track = (sending: Promise<void>) => {
    onTheirWay.add(sending)
    sending.finally(() => onTheirWay.delete(sending))
  }

  return {
    put(one) {
      const mail: Mail = { ...one, transport: mailer ? 'pending' : 'none' }
      keep(mail)
      if (mailer) track(send(mailer, mail))
    },
    list: () => [...mails.values()],
    async drain() {
      while (onTheirWay.size > 0) await Promise.all(onTheirWay)
    },
    load(list) {
      mails.clear()
      for (const mail of list) {
        mails.set(mail.id, mail)
        if (mailer && mail.transport === 'pending') track(send(mailer, mail))
      }
    },
  }
}
