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
  await page.goto(url)
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

  for (const [name, found] of [
    ['Date from', [started, young]],
    ['Date to', [old]],
  ] as const) {
    await filters.getByLabel('More filters').selectOption({ label: name })
    const field = filters.getByLabel(name, { exact: true })
    await field.fill(between)
    await field.press('Enter')
    await expect.poll(() => idsIn(page), { message: name }).toEqual(found)
    await page.reload()
    await expect.poll(() => idsIn(page), { message: name }).toEqual(found)
    await field.fill('')
    await field.press('Enter')
    await expect.poll(() => idsIn(page), { message: name }).toEqual(all)
  }
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
    await detail.getByRole('button', { name: 'Reveal identity data' }).click()
    await detail.getByRole('button', { name: 'Edit' }).click()
    await detail.getByLabel('Email').fill('no address')
    await detail.getByLabel('Name first').fill('Ada')
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

  test('changes a plan, generates a key and revokes it, and the API obeys', async () => {
    const { url, api } = await sandboxOnPort()
    const one = await opened()
    const { page } = one
    await page.goto(`${url}/#/access`)
    const card = page.locator('.card', { has: page.getByRole('heading', { name: 'Acme' }) })
    const plan = card.getByLabel('Plan of Acme')
    expect((await api('/clients')).status).toBe(200)
    await plan.selectOption('Starter')
    await card.locator('.badge', { hasText: '403' }).waitFor()
    expect((await api('/clients')).status).toBe(403)
    await plan.selectOption('Enterprise')
    await card.getByLabel('paid').click()
    await card.locator('.badge', { hasText: '402' }).waitFor()
    expect((await api('/clients')).status).toBe(402)
    await card.getByLabel('paid').click()
    await expect.poll(async () => (await api('/clients')).status).toBe(200)

    const revoke = card.getByRole('button', { name: 'Revoke' })
    const before = await revoke.count()
    await card.getByRole('button', { name: 'Generate key' }).click()
    const key = (await page.locator('.notice code').textContent()) ?? ''
    expect((await api('/clients', { key })).status).toBe(200)
    await expect.poll(() => revoke.count()).toBe(before + 1)
    await revoke.last().click()
    const dialog = page.getByRole('dialog', { name: 'Revoke this key?' })
    await dialog.getByText('is answered 401 from now on').waitFor()
    await dialog.getByRole('button', { name: 'Revoke' }).click()
    await expect.poll(async () => (await api('/clients', { key })).status).toBe(401)
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
    await page.getByRole('heading', { name: 'Nothing goes wrong' }).waitFor()
    const form = page.getByRole('form', { name: 'New fault' })
    await form.getByLabel('Fault').selectOption('duplicate')
    await form.getByLabel('How often').selectOption('3 times')
    await form.getByRole('button', { name: 'Switch on' }).click()
    const cells = () => page.locator('tbody td').allInnerTexts()
    const row = (struck: string) => [
      expect.stringContaining('duplicate'),
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
    await page.getByRole('button', { name: 'Switch off' }).click()
    await page.getByRole('heading', { name: 'Nothing goes wrong' }).waitFor()
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
    const mails = page.locator('article.card')
    await mails.getByText('invitation').waitFor()
    expect(await page.content()).not.toContain('ada@example.org')
    const link = mails.getByRole('link', { name: 'Open the subject’s page' })
    expect(await link.getAttribute('href')).toContain(made.accessToken)
    await sandbox.act(made.id, ['start', 'submit', 'approve'])
    await expect.poll(() => mails.count()).toBe(2)
    await page.getByRole('button', { name: 'Reveal recipients' }).click()
    const texts = await mails.allInnerTexts()
    expect(texts).toEqual([
      expect.stringContaining('desk@bank.example'),
      expect.stringContaining('ada@example.org'),
    ])
    expectClean(one)
  })
})
