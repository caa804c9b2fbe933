// The option that names an inbox: `--file`, which is IDV_INBOX and the config file's `inbox`.
import { Option } from 'commander'

/** What commands that open an inbox are given. */
export interface InboxChoice {
  readonly inbox?: string
}

/** Known as `inbox` wherever it is not typed, since other commands have a `--file` too. */
class InboxFileOption extends Option {
  override attributeName(): string {
    return 'inbox'
  }
}

export const inboxFileOption = () =>
  new InboxFileOption(
    '--file <file>',
    'the SQLite file of the inbox (else IDV_INBOX, else `inbox` or `store` of the config file)',
  )
