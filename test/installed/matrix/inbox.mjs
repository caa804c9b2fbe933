// Keeps an event, crashes a handler, and ends with one effect; then redrives, forgets and purges.
// Prints what became of it. At last the whole inbox is moved into another file.
import { mkdtempSync } from 'node:fs'
import { createReceiver, createWorker, sign } from 'idv-webhooks'
import { createInbox, moveInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'

const secret = 'installed-secret'
const folder = mkdtempSync('inbox-')
const inbox = createInbox({
  store: sqliteStore(`${folder}/inbox.db`),
  retry: { attempts: 3, delays: [0] },
  encryption: { key: 'a1'.repeat(32) },
})
const receiver = createReceiver({ secret, inbox, observe: () => {} })
const counts = []
const handler = (_event, { tx, attempt }) => {
  tx.exec('create table if not exists effects (attempt integer)')
  tx.prepare('insert into effects values (?)').run(attempt)
  counts.push(tx.prepare('select count(*) as n from effects').get().n)
  if (attempt === 1) throw new Error('later')
}
receiver.on('*', handler, { tx: true })
const body = new TextEncoder().encode(
  '{"id":"evt_1","event":"request.approved","data":{"id":"ver_1"}}',
)
const headers = await sign(body, { secret })
const kinds = []
for (const _ of [1, 2]) kinds.push((await receiver.receive({ body, headers })).kind)
const report = await createWorker(receiver).runOnce()
const { done } = await inbox.stats()
const empty = new Uint8Array()
kinds.push((await receiver.receive({ body: empty, headers: await sign(empty, { secret }) })).kind)
await createWorker(receiver).runOnce()
const operated = [await inbox.redrive({ state: 'dead' })]
operated.push(await inbox.forget('verification:ver_1'), await inbox.purge())
if (process.argv[2] === 'close') {
  await inbox.close()
  const [from, to] = ['inbox', 'moved'].map((name) => sqliteStore(`${folder}/${name}.db`))
  const { to: counts } = await moveInbox(from, to)
  operated.push(counts.entries)
}
console.log(JSON.stringify([kinds, report.retry, done, counts, operated]))
