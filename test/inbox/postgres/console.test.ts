// The console over one database on which several processes work: what others keep and handle is
// seen, and what is done here is handled there.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { inboxConsole } from 'idv-webhooks/console'
import { createInbox } from 'idv-webhooks/inbox'
import { expect, onTestFinished, test } from 'vitest'
import { expectClean, openPage } from '../../console/browser/chromium.ts'
import { ended, listening } from '../../console/listening.ts'
import { schemaOn, servers } from './servers.ts'

/** A process with a receiver and a worker of its own. */
async function worker(schema: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'console-worker.ts'), [servers.pg18, schema])
  onTestFinished(async () => {
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  })
  expect((await once(child, 'message'))[0]).toBe('ready')
  return child
}

async function told(child: ChildProcess, message: object): Promise<unknown> {
  child.send(message)
  return (await once(child, 'message'))[0]
}

test('several processes are seen on one page, and a redrive there is handled by one of them', async () => {
  const { schema, open } = schemaOn()
  const inbox = createInbox({ store: open() })
  onTestFinished(() => inbox.close())
  await inbox.stats()
  const [first, second] = [await worker(schema), await worker(schema)]
  const served = inboxConsole(inbox, { authorize: 'loopback', interval: 100 })
  const server = createServer(served.node)
  const url = await listening(server)
  onTestFinished(() => ended(server))
  const one = await openPage()
  onTestFinished(one.close)
  const { page } = one

  await page.goto(`${url}/#/entries`)
  await page.getByRole('heading', { name: 'The inbox is empty' }).waitFor()
  const broken = { broken: true }
  expect([await told(first, broken), await told(second, broken)]).toEqual(['done', 'done'])
  expect(await told(first, { deliver: 1 })).toBe('accepted')
  expect(await told(second, { deliver: 2 })).toBe('accepted')
  expect(await told(second, { deliver: 1 })).toBe('duplicate')
  await expect.poll(() => page.locator('.row', { hasText: 'dead' }).count()).toBe(2)
  await page.getByRole('searchbox').fill('evt_2')
  await expect.poll(() => page.locator('.row').count()).toBe(1)
  await page.locator('.row').click()
  const detail = page.getByRole('region', { name: 'Entry' })
  await detail.getByText('HANDLER_FAILED').first().waitFor()
  await detail.getByRole('button', { name: 'Reveal the payload' }).click()
  await page.getByTestId('body').getByText('Ada 2').waitFor()

  const mended = { broken: false }
  expect([await told(first, mended), await told(second, mended)]).toEqual(['done', 'done'])
  await detail.getByRole('button', { name: 'Redrive' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Redrive' }).click()
  await detail.getByRole('button', { name: 'Replay' }).waitFor()
  await page.goto(`${url}/#/overview`)
  const figure = (state: string) => page.locator(`.figures a[href*="state=${state}"]`)
  await figure('done').getByText('1').waitFor()
  await figure('dead').getByText('1').first().waitFor()
  expectClean(one)
})
