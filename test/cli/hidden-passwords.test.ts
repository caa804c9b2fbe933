// Passwords of addresses, in every spelling, are in nothing that the command line prints.
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, test } from 'vitest'
import { fromVariable, postgresStoreAt, shownUrl } from '../../tools/cli/inbox/find-inbox.ts'
import { withoutUser } from '../../tools/cli/output.ts'
import { refuseSecretArguments } from '../../tools/cli/secrets.ts'

/** They parse otherwise than they are meant, or not at all. */
const misread = [
  'postgresql://app:hu@sh/hush@db/x',
  'postgres://app:hu/sh@db/x',
  'postgres://app:5/hush@db/x',
  'postgres://app:hu@sh?hush@db/x',
  'postgres://app:hu@sh#hush@db/x',
]
const unescaped = [...misread, 'postgres://app:hu sh@db/x', 'postgres://hush@x:hush@db/x']
const keywords = [
  'host=db user=app password=hush dbname=x',
  "password = 'hu sh' host=db",
  'host=db sslpassword=hush',
  'host=db PASSWORD=hush\\ hush;hush',
  'host=db\npassword=hush',
]

test.each([
  'https://app:hush@db.test/hooks?to=a@b.test',
  'https://hush@db.test/',
  'https:app:hush@db.test',
  'ht\ntps://app:hush@db.test',
  'https://db.test/hooks?api_key=hush',
])('withoutUser hides the secret of %j', (text) => {
  expect(withoutUser(text)).not.toMatch(/hush/)
  expect(withoutUser(text)).toContain('***')
})

test.each(['https://app.test/hooks', 'https://app.test:8080/@scope/hooks?to=a@b.test'])(
  'withoutUser leaves %j as it is',
  (text) => {
    expect(withoutUser(text)).toBe(text)
  },
)

test.each([...unescaped, ...keywords])('as an argument %j is refused, and not repeated', (text) => {
  for (const args of [['inbox', 'stats', '--inbox', text], [`--inbox=${text}`]]) {
    const refused = expect.objectContaining({ code: 'SECRET_ARGUMENT' })
    expect(() => refuseSecretArguments(args)).toThrow(refused)
    expect(() => refuseSecretArguments(args)).not.toThrow(/hush/)
  }
})

test.each(misread)('as the address of an inbox %j is refused with the fix', async (text) => {
  const opened = postgresStoreAt(text, { cwd: '/' })
  await expect(opened).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringMatching(/^[^@]*user@host[^@]*percent-encoded$/),
  })
  expect(shownUrl(text)).not.toMatch(/hu\b|sh\b|hush/)
})

test.each([...keywords, 'mysql://app:hush@db/x'])(
  'as an inbox %j is refused with the fix, and not repeated',
  (text) => {
    const session = { cwd: '/', env: { DB: `${text}.com` } }
    for (const given of [text, 'env:DB']) {
      expect(() => fromVariable(session, given)).toThrow(/^an inbox is an SQLite file or postgres:/)
      expect(() => fromVariable(session, given)).not.toThrow(/hush/)
    }
  },
)

test.each([
  '"postgres://app:hush@db/x"',
  "'postgresql://app:hush@db/x'",
  ' postgres://app:hush@db/x',
  'postgres:app:hush@db/x',
])('in quotes, after a space or without slashes %j is no path, and not repeated', (text) => {
  const session = { cwd: '/', env: { INBOX: text } }
  for (const given of [text, 'env:INBOX']) {
    const refused = expect.objectContaining({ code: 'USAGE' })
    expect(() => fromVariable(session, given)).toThrow(refused)
    expect(() => fromVariable(session, given)).not.toThrow(/hush/)
  }
  expect(() => sqliteStore(text)).toThrow('got an address')
  expect(() => sqliteStore(text)).not.toThrow(/hush/)
})
