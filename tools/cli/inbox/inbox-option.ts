// The option that names an inbox: `--inbox`, also IDV_INBOX and `inbox` of the config file.
import { Option } from 'commander'

/** The options of commands that open an inbox. */
export interface InboxChoice {
  readonly inbox?: string
}

export const inboxOption = () =>
  new Option(
    '--inbox <file>',
    'the inbox: a SQLite file, postgres://…, or env:NAME of a variable that holds one (default: IDV_INBOX, else `inbox` or `store` of the config file)',
  )
