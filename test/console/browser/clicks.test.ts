// Each thing that the sandbox's pages do, done once by a click, and looked for where it must be seen.
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { expectClean } from './chromium.ts'
import { opened, sandboxOnPort } from './opened.ts'

const idsIn = (page: Page) =>
  page.locator('.row').evaluateAll((rows) => rows.map((row) => row.getAttribute('data-id')))

async function answered(response: Response | Promise<Response>) {
  return (await (await response).json()) as Readonly<Record<string, unknown>>
}

test('the list of verifications is filtered by type, status and dates, and the address says so', async () => {
  const { sandbox, url, verification } = await sandboxOnPort()
  const { id: old } = await verification({ type: 'kyc' })
  await sandbox.act(old, ['start', 'submit'])
  sandbox.clock.freeze()
  await sandbox.clock.advance({ days: 1 })
  const between = sandbox.clock.now().toISOString()
  await sandbox.clock.advance({ days: 1 })
  const { id: young } = await verification({ type: 'idv' })
  const { id: started } = await verification({ type: 'kyc' })
  const all = [started, young, old]
  const one = await opened()
  const { page } = one
  await page.goto(`${url}/#/verifications`)
  await expect.poll(() => idsIn(page)).toEqual(all)
  const filters = page.getByRole('search', { name: 'Filters' })
  const choose = (name: string, value: string) =>
    filters.getByLabel(name, { exact: true }).selectOption(value)

  await choose('Type', 'kyc')
  await expect.poll(() => idsIn(page)).toEqual([started, old])
  await choose('Status', 'initiated')
  await expect.poll(() => idsIn(page)).toEqual([started])
  expect(page.url()).toMatch(/type=kyc&status=initiated$/)
  await choose('Type', '')
  await expect.poll(() => idsIn(page)).toEqual([started, young])
  await choose('Status', '')
  await expect.poll(() => idsIn(page)).toEqual(all)

  await choose('Created', '24h')
  await expect.poll(() => idsIn(page)).toEqual([started, young])
  await page.reload()
  await expect.poll(() => idsIn(page)).toEqual([started, young])
  await page.goto(`${url}/#/verifications?dateTo=${between}`)
  await expect.poll(() => idsIn(page)).toEqual([old])
  await page.getByRole('button', { name: `dateTo: ${between}` }).click()
  await expect.poll(() => idsIn(page)).toEqual(all)
  expectClean(one)
})

describe('a click', () => {
  test('edits a client, and deletes it once that was confirmed', async () => {
    const { sandbox, url, api } = await sandboxOnPort()
    const body = { nameFirst: 'Grace', email: 'grace@example.org' }
    const { id } = await answered(api('/clients', { body }))
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/clients/${id}`)
    const detail = page.getByRole('region', { name: 'Client', exact: true })
    await detail.getByRole('button', { name: 'Edit' }).click()
    await detail.getByLabel('Email').fill('no address')
    await detail.getByLabel('First name').fill('Ada')
    await detail.getByRole('button', { name: 'Save' }).click()
    await detail.locator('.field', { hasText: 'Email' }).locator('.wrong').waitFor()
    expect(await answered(api(`/clients/${id}`))).toMatchObject(body)
    await detail.getByLabel('Email').fill('ada@example.org')
    await detail.getByRole('button', { name: 'Save' }).click()
    await detail.getByRole('heading', { name: 'Ada' }).waitFor()
    const edited = { nameFirst: 'Ada', email: 'ada@example.org', active: true }
    expect(await answered(api(`/clients/${id}`))).toMatchObject(edited)

    await detail.getByRole('button', { name: 'Delete' }).click()
    const dialog = page.getByRole('dialog', { name: 'Delete this client?' })
    await dialog.getByText('It remains readable with active: false').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(await answered(api(`/clients/${id}`))).toMatchObject({ active: true })
    await detail.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await detail.locator('.badge', { hasText: 'deleted' }).waitFor()
    expect(await answered(api(`/clients/${id}`))).toMatchObject({ active: false })
    expect(sandbox.deliveries.list().map(({ event }) => event)).toEqual([
      'client.deleted',
      'client.updated',
      'client.created',
    ])
    expectClean(one)
  })

  test('copies an API key, which tells what requests with it get', async () => {
    const { url, api } = await sandboxOnPort()
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/reference`)
    const keys = page.getByRole('table', { name: 'Organizations & keys' })
    await keys.getByRole('row', { name: 'key_unpaid' }).getByText('402').waitFor()
    await keys.getByRole('row', { name: 'key_revoked' }).getByText('401').waitFor()
    const row = keys.getByRole('row', { name: 'key_globex' })
    await row.getByRole('button', { name: 'Copy the id' }).click()
    await page.getByText('Copied').waitFor()
    const key = await page.evaluate(() => navigator.clipboard.readText())
    expect((await api('/clients', { key })).status).toBe(200)
    expectClean(one)
  })

  test('freezes the clock and moves it on, so that what is due happens', async () => {
    const { sandbox, url, api, verification } = await sandboxOnPort()
    const { id } = await verification()
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/clock`)
    const badge = page.locator('.card .badge')
    await badge.filter({ hasText: 'running' }).waitFor()
    await page.getByRole('button', { name: 'Freeze', exact: true }).click()
    await badge.filter({ hasText: 'frozen' }).waitFor()
    const frozen = sandbox.clock.now().getTime()
    const shown = () => page.getByTestId('now').textContent()
    const words = (at: number) => `${new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC`
    await expect.poll(shown).toBe(words(frozen))
    await page.getByRole('button', { name: 'Advance 8 days' }).click()
    await expect.poll(shown).toBe(words(frozen + 8 * 86_400_000))
    await page.getByText('1 expired, 1 delivered').waitFor()
    expect(sandbox.clock.now().getTime()).toBe(frozen + 8 * 86_400_000)
    expect(await answered(api(`/verifications/${id}`))).toMatchObject({ status: 'expired' })
    await page.getByRole('button', { name: 'Let it run' }).click()
    await badge.filter({ hasText: 'running' }).waitFor()
    expect(sandbox.clock.frozen).toBe(false)
    expectClean(one)
  })

  test('switches a fault on, which is counted as it strikes, and off again', async () => {
    const { sandbox, url, verification } = await sandboxOnPort()
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/faults`)
    await page.getByText('Nothing goes wrong').waitFor()
    await page.getByLabel('Apply a fault').selectOption('3 times')
    await page.getByRole('button', { name: 'Switch on duplicate' }).click()
    const table = page.getByRole('table', { name: 'Switched on' })
    const cells = () => table.locator('tbody td').allInnerTexts()
    const row = (struck: string) => [
      expect.stringContaining('duplicate'),
      'The same delivery arrives twice, with the same event id.',
      '',
      '3 times',
      struck,
      'Switch off',
    ]
    await expect.poll(cells).toEqual(row('0'))
    await verification()
    await expect.poll(cells).toEqual(row('1'))
    await verification()
    await expect.poll(cells).toEqual(row('2'))
    expect(sandbox.deliveries.list()).toHaveLength(4)
    await table.getByRole('button', { name: 'Switch off' }).click()
    await page.getByText('Nothing goes wrong').waitFor()
    await verification()
    await sandbox.flush()
    expect(sandbox.deliveries.list()).toHaveLength(5)
    expectClean(one)
  })

  test('shows what the outbox holds, as it is written', async () => {
    const { sandbox, url, verification } = await sandboxOnPort()
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/outbox`)
    await page.getByRole('heading', { name: 'No mail yet' }).waitFor()
    const thirdParties = [{ name: 'Bank', email: 'desk@bank.example', org: 'Bank' }]
    const made = await verification({ subjectEmail: 'ada@example.org', thirdParties })
    const mails = page.locator('.row')
    await mails.filter({ hasText: 'invitation' }).click()
    const detail = page.getByRole('region', { name: 'Mail', exact: true })
    await detail.getByText('ada@example.org').waitFor()
    const link = detail.getByRole('link', { name: 'Open the subject’s page' })
    expect(await link.getAttribute('href')).toContain(made.accessToken)
    await detail.getByText('asks you to complete').waitFor()
    await sandbox.act(made.id, ['start', 'submit', 'approve'])
    await expect.poll(() => mails.count()).toBe(2)
    const texts = await mails.allInnerTexts()
    expect(texts).toEqual([
      expect.stringContaining('desk@bank.example'),
      expect.stringContaining('ada@example.org'),
    ])
    expectClean(one)
  })
})
