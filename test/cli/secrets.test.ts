// The forms of a secret file: bare secrets, JSON, or the variables of an env file.
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { findSecrets } from '../../tools/cli/secrets.ts'
import type { Session } from '../../tools/cli/session.ts'

/** The secrets that a command reads from a file with this content. */
async function secretsOf(content: string | Buffer): Promise<readonly unknown[]> {
  const stdin: unknown = Readable.from([content])
  const session = { cwd: '/', env: {}, stdin: stdin as Session['stdin'] } as Session
  const found = await findSecrets(session, { secretFile: '-' })
  return found.map(({ value }) => value)
}

test.each([
  'WEBHOOK_SECRET=whsec_a=b==',
  '\uFEFFWEBHOOK_SECRET=whsec_a=b==\r\n',
  '# of the app\r\nDATABASE_URL=postgres://a?b=c\r\nexport WEBHOOK_SECRET="whsec_a=b=="\r\n',
  "EMPTY=\nKEY='-----BEGIN\nKEY-----'\nWEBHOOK_SECRET='whsec_a=b==' # from the dashboard",
])('an env file gives its WEBHOOK_SECRET: %j', async (content) => {
  expect(await secretsOf(content)).toEqual(['whsec_a=b=='])
})

test.each([
  ['# no secret\nDATABASE_URL=x\nexport OTHER=', 'variables but no WEBHOOK_SECRET'],
  ['A=1\nWEBHOOK_SECRET=\n', 'an empty WEBHOOK_SECRET'],
  ['WEBHOOK_SECRETS=a-secret-of-yours', 'variables but no WEBHOOK_SECRET'],
  ['webhook_secret=a-secret-of-yours\n', 'variables but no WEBHOOK_SECRET'],
])('an env file without it is refused: %j', async (content, fault) => {
  await expect(secretsOf(content)).rejects.toMatchObject({
    code: 'SECRET_MISSING',
    message: `--secret-file: stdin has ${fault}: write the secret as WEBHOOK_SECRET=… (also one with = in it), or pass a file with one secret per line`,
  })
})

test.each([
  ['UTF-16', Buffer.from('\uFEFFa-secret', 'utf16le')],
  ['UTF-16 without a mark', Buffer.from('a-secret', 'utf16le')],
  ['UTF-16 of the other order', Buffer.from('\uFEFFa-secret', 'utf16le').swap16()],
  ['Latin-1', Buffer.from('a-secr\u00e9t', 'latin1')],
])('a file in %s is refused, and not shown', async (_, content) => {
  await expect(secretsOf(content)).rejects.toMatchObject({
    code: 'SECRET_MISSING',
    message: expect.stringMatching(/^--secret-file: stdin is not text in UTF-8: save it as UTF-8/),
  })
})

test('a JSON string is one secret', async () => {
  expect(await secretsOf('"a-secret \\u00e9"\n')).toEqual(['a-secret é'])
})

test.each([
  [['QUJDRA==', 'QUJDREU=']],
  [['1ABC=DEF', 'a.b=c']],
  [['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw']],
])('bare secrets may end with =, and hold one where they are no variables: %j', async (secrets) => {
  expect(await secretsOf(`${secrets.join('\n')}\n`)).toEqual(secrets)
})
