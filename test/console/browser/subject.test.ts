import { expect, test } from 'vitest'
import { expectClean } from './chromium.ts'
import { opened, sandboxOnPort } from './opened.ts'

const hostile = '"><img src=x onerror=alert(1)><script>alert(2)</script>'
/** As an address of mail may stand in a field. */
const address = '"><img/src=x/onerror=alert(3)>@evil.example'

/** Fields by the step they belong to; dates are typed as text, as a program would. */
const steps = [
  ['document', { number: hostile, validUntil: '2031-05-01' }],
  ['person', { fullName: hostile, dateOfBirth: '1985-12-10' }],
  ['location', { addressLine1: hostile, city: hostile }],
  ['contact', { email: address, phone: hostile }],
  ['business', { name: hostile, registrationNumber: hostile }],
] as const

test("a subject's input stays text on their page and on every page that shows it", async () => {
  const { sandbox, url, verification } = await sandboxOnPort()
  const requirements = steps.map(([step]) => step)
  const { id, accessToken } = await verification({ type: 'kyc', requirements })
  const phone = await opened({ width: 380, height: 760 })
  const desk = await opened()
  for (const { page } of [phone, desk]) {
    page.on('dialog', (dialog) => {
      throw new Error(`a script ran: ${dialog.message()}`)
    })
  }
  const { page } = phone
  const elements = 'main img, main script, [onerror]'
  await page.goto(`${url}/verify/${accessToken}`)
  for (const [step, fields] of steps) {
    // Refused first, so that the page gives back what was filled in.
    const inputs = page.locator('main form').first().locator('input:not([type=hidden])')
    await inputs.evaluateAll((all) => {
      for (const one of all) if (one instanceof HTMLInputElement) one.type = 'text'
    })
    for (const name of Object.keys(fields)) await page.locator(`#f-${name}`).fill(hostile)
    await inputs.first().fill('')
    await page.getByRole('button', { name: /Continue|Submit/ }).click()
    await page.locator('.wrong').first().waitFor()
    expect(await page.locator(elements).count(), step).toBe(0)
    const last = Object.keys(fields).at(-1)
    expect(await page.locator(`#f-${last}`).getAttribute('value'), step).toBe(hostile)
    if (step === 'document') await page.locator('#f-type').selectOption('passport')
    for (const [name, value] of Object.entries(fields)) {
      await page.locator(`#f-${name}`).fill(value)
    }
    await page.getByRole('button', { name: /Continue|Submit/ }).click()
    await page.locator('.wrong').waitFor({ state: 'detached' })
  }
  await page.getByText('We have received everything').waitFor()
  expect(await page.locator(elements).count()).toBe(0)

  await desk.page.goto(`${url}/#/verifications/${id}`)
  const shown = desk.page.getByTestId('steps')
  await expect.poll(() => shown.getByText(hostile).count()).toBe(7)
  await shown.getByText(address).waitFor()
  expect(await desk.page.locator(elements).count()).toBe(0)
  const delivery = sandbox.deliveries.list()[0]?.id
  await desk.page.goto(`${url}/#/deliveries/${delivery}`)
  await desk.page.getByTestId('body').first().waitFor()
  expect(await desk.page.locator(elements).count()).toBe(0)
  for (const one of [phone, desk]) expectClean(one)
})
