import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import { promisify } from 'node:util'
import { createReceiver } from 'idv-webhooks'
import { toNode } from 'idv-webhooks/node'
import { createSandbox } from 'idv-webhooks/sandbox'
import { afterEach, expect, test } from 'vitest'
import { ended, listening } from '../listening.ts'
import { expectClean, openPage } from './chromium.ts'
import { runCopied } from './run-copied.ts'

const run = promisify(execFile)
const secret = 'a-secret-for-the-browser'
const closing: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** A sandbox on a port, with a real receiver on another. */
async function start() {
  const received: string[] = []
  const receiver = createReceiver({ secret, observe: () => {} })
  receiver.on('*', (event) => {
    received.push(event.name)
  })
  const server = createServer(toNode(receiver))
  const hook = `${await listening(server)}/webhooks`
  closing.push(() => ended(server))
  const sandbox = await createSandbox({
    seed: 1,
    rateLimit: false,
    subscriptions: [{ url: hook, secret }],
  })
  closing.push(() => sandbox.close())
  const { url } = await sandbox.listen()
  const create = async (body: object) => {
    const response = await fetch(`${sandbox.baseUrl}/verifications`, {
      method: 'POST',
      headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ type: 'idv', requirements: ['document'], ...body }),
    })
    return (await response.json()) as { readonly id: string; readonly accessToken: string }
  }
  return { sandbox, url, create, received, hook }
}

async function opened(look?: Parameters<typeof openPage>[0]) {
  const one = await openPage(look)
  closing.push(one.close)
  return one
}

test('a verification goes from its creation over the subject’s phone to its approval, and its events arrive without a reload', async () => {
  const { url, received } = await start()
  const desk = await opened()
  const { page } = desk
  await page.goto(`${url}/#/verifications`)
  await page.getByRole('heading', { name: 'No verification yet' }).waitFor()
  await page.getByRole('link', { name: 'New verification' }).first().click()

  await page.getByLabel('Subject name').fill('Ada Lovelace')
  await page.getByLabel('Subject email').fill('not an address')
  await page.getByLabel('Person', { exact: true }).check()
  await page.getByLabel('Consent').check()
  await page.getByRole('button', { name: 'Create verification' }).click()
  const field = page.locator('.field', { has: page.getByLabel('Subject email') })
  await field.locator('.wrong').waitFor()
  expect(await page.locator('.wrong').count()).toBe(1)
  await page.getByLabel('Subject email').fill('ada@example.org')
  await page.getByRole('button', { name: 'Create verification' }).click()
  await page.getByRole('region', { name: 'Verification' }).getByText('initiated').waitFor()
  const buttons = () => page.getByRole('group', { name: 'Actions' }).getByRole('button')
  expect(await buttons().allTextContents()).toEqual(['Start', 'Cancel', 'Expire'])

  const link = await page.getByRole('link', { name: 'Open' }).getAttribute('href')
  const other = await opened()
  await other.page.goto(`${url}/#/deliveries`)
  await other.page.locator('.row', { hasText: 'verification.created' }).waitFor()

  const phone = await opened({ width: 380, height: 760 })
  await phone.page.goto(`${url}${link}`)
  await phone.page.getByText('Step 1 of 3').waitFor()
  await phone.page.getByRole('button', { name: 'Continue' }).click()
  await expect.poll(() => phone.page.locator('.wrong').count()).toBe(3)
  await phone.page.getByLabel('Kind of document').selectOption('Passport')
  await phone.page.getByLabel('Document number').fill('X1234567')
  await phone.page.getByLabel('Valid until').fill('2031-05-01')
  await phone.page.getByRole('button', { name: 'Continue' }).click()
  await phone.page.getByLabel('Full name').fill('Ada Lovelace')
  await phone.page.getByLabel('Date of birth').fill('1985-12-10')
  await phone.page.getByRole('button', { name: 'Continue' }).click()
  const wide = await phone.page.evaluate(() => document.documentElement.scrollWidth)
  expect(wide).toBeLessThanOrEqual(380)
  await phone.page.getByLabel('I agree').check()
  await phone.page.getByRole('button', { name: 'Submit' }).click()
  await phone.page.getByText('We have received everything').waitFor()

  const steps = page.getByTestId('steps')
  await steps.getByText('Agreed').waitFor()
  for (const given of ['X1234567', '2031-05-01', 'Ada Lovelace', '1985-12-10']) {
    await steps.getByText(given).waitFor()
  }
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('region', { name: 'Verification' }).getByText('approved').first().waitFor()
  await other.page.locator('.row', { hasText: 'verification.approved' }).waitFor()
  const rows = await other.page.locator('.row').allInnerTexts()
  const names = rows.map((text) => /verification\.\w+/.exec(text)?.[0])
  expect(names).toEqual(['verification.approved', 'verification.submitted', 'verification.created'])
  await expect.poll(() => received).toEqual([...names].reverse())
  await page.getByText('This verification is final').waitFor()
  for (const one of [desk, phone, other]) expectClean(one)
})

const hostile = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}\u202e`

test('untrusted text stays text in every place, and no policy is violated', async () => {
  const { url, create, sandbox } = await start()
  const made = await create({
    subjectName: hostile.slice(0, 120),
    subjectPhone: '<b onclick=1>1</b>',
    subjectEmail: 'x@example.org',
    config: { [hostile]: hostile },
    thirdParties: [{ name: hostile.slice(0, 100), email: 'y@example.org', org: '<i>org</i>' }],
  })
  await fetch(`${sandbox.baseUrl}/clients`, {
    method: 'POST',
    headers: { 'x-api-key': sandbox.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ nameFirst: '<img src=x onerror=1>', metadata: { [hostile]: hostile } }),
  })
  await sandbox.act(made.id, [{ action: 'start' }, 'submit', { action: 'reject', reason: hostile }])
  const delivery = sandbox.deliveries.list().at(-1)
  const client = sandbox.deliveries.list().find(({ event }) => event.startsWith('client'))
  const one = await opened()
  const { page } = one
  page.on('dialog', (dialog) => {
    throw new Error(`a script ran: ${dialog.message()}`)
  })
  for (const path of [
    'verifications',
    `verifications/${made.id}`,
    'clients',
    `clients/${client?.resourceId}`,
    'deliveries',
    `deliveries/${delivery?.id}`,
    'outbox',
    `verifications/${encodeURIComponent(hostile)}`,
    `verifications?search=${encodeURIComponent(hostile)}`,
  ]) {
    await page.goto(`${url}/#/${path}`)
    await page.locator('h1').waitFor()
    await page.locator('.row, .card, .notice, .empty').first().waitFor()
    const made = await page.evaluate(
      () => document.querySelectorAll('main img, main script, main b[onclick], main i').length,
    )
    expect(made, path).toBe(0)
  }
  await page.goto(`${url}/#/verifications/${made.id}`)
  await page.getByText('<script>alert(2)').first().waitFor()
  await page.goto(`${url}/verify/${made.accessToken}`)
  expect(await page.locator('main img, main script').count()).toBe(0)
  expectClean(one)
})

test('a delivery whose bytes were changed shows both side by side, and is sent again', async () => {
  const { url, create, sandbox, received } = await start()
  sandbox.faults.set([{ kind: 'reserialized', times: 1 }])
  await create({ subjectName: 'Zoë' })
  await expect.poll(() => sandbox.deliveries.list()[0]?.attempts.length).toBe(1)
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/deliveries`)
  await page.locator('.row').first().click()
  await page.getByText('SIGNATURE_MISMATCH').first().waitFor()
  const pair = page.getByTestId('side-by-side')
  await pair.waitFor()
  const [signed, got] = await pair.locator('.code').allInnerTexts()
  expect(signed).not.toBe(got)
  expect(await pair.locator('mark').count()).toBe(2)
  await page.getByRole('button', { name: 'Resend' }).click()
  await page.getByRole('region', { name: 'Delivery' }).getByText('delivered').waitFor()
  expect(received).toEqual(['verification.created'])
  expectClean(one)
})

test('a delivery is copied as a command that sends it, and as a test that passes', async () => {
  const { url, create, sandbox, received } = await start()
  await create({ subjectName: 'O’Brien & "Söhne"' })
  await expect.poll(() => received.length).toBe(1)
  const id = sandbox.deliveries.list()[0]?.id
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/deliveries/${id}`)
  const copied = async (name: string) => {
    await page.getByRole('button', { name }).click()
    await page.getByText('Copied').first().waitFor()
    return page.evaluate(() => navigator.clipboard.readText())
  }
  const command = await copied('Copy as curl')
  const answer = await run('sh', ['-c', `${command} -s --max-time 10`])
  expect(JSON.parse(answer.stdout)).toEqual({ outcome: 'handled' })
  expect(received).toHaveLength(2)

  await page.reload()
  const file = await copied('Copy as test')
  expect(file).toContain("from 'vitest'")
  expect(await runCopied(file)).toMatch(/Tests\s+1 passed/)
  expectClean(one)
})

test('a filter typed as a detail closes does not open it again', async () => {
  const { url, create } = await start()
  const { id } = await create({ subjectName: 'Grace' })
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/verifications/${id}`)
  await page.getByRole('region', { name: 'Verification' }).getByText('initiated').waitFor()
  await page.evaluate(() => {
    document.querySelector<HTMLElement>('.detail > header .plain')?.click()
    const search = document.querySelector<HTMLInputElement>('main input[type="search"]')
    if (search) search.value = 'grace'
    search?.dispatchEvent(new Event('input'))
  })
  await expect.poll(() => page.url()).toMatch(/#\/verifications\?search=grace$/)
  expectClean(one)
})

test('the keyboard does everything: search, move, open, go back, and say how', async () => {
  const { url, create } = await start()
  for (const subjectName of ['Ada', 'Grace', 'Joan']) await create({ subjectName })
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/verifications`)
  await page.locator('.row').nth(2).waitFor()
  await page.keyboard.press('j')
  await page.keyboard.press('j')
  const focused = () =>
    page.evaluate(() => document.activeElement?.closest('tr')?.getAttribute('data-id'))
  const ids = await page
    .locator('.row')
    .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id')))
  await expect.poll(focused).toBe(ids[1])
  await page.keyboard.press('k')
  await expect.poll(focused).toBe(ids[0])
  await page.keyboard.press('Enter')
  await page.getByRole('region', { name: 'Verification' }).getByText('initiated').waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.url()).toMatch(/#\/verifications$/)
  await page.keyboard.press('/')
  await page.keyboard.type('grace')
  await expect.poll(() => page.locator('.row').count()).toBe(1)
  await expect.poll(() => page.url()).toContain('search=grace')
  await page.keyboard.press('Escape')
  await page.keyboard.press('g')
  await page.keyboard.press('d')
  await page.getByRole('heading', { name: 'Deliveries' }).waitFor()
  await page.keyboard.press('?')
  await page.getByRole('dialog', { name: 'Go to' }).waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  expectClean(one)
})
