// An encrypted inbox that is moved: bytes come over as they are, and keys go on rotating there.
import { createInbox, type InboxStore, moveInbox } from 'idv-webhooks/inbox'
import { sqliteStore } from 'idv-webhooks/inbox/sqlite'
import { expect, test } from 'vitest'
import { event, setUp } from '../admin.ts'
import { temporaryFile } from '../temporary.ts'
import { schemaOn } from './servers.ts'

const engines = {
  SQLite: () => {
    const file = temporaryFile()
    return () => sqliteStore(file)
  },
  Postgres: () => schemaOn(undefined, { listen: false }).open,
}

const [first, second, third, wrong] = [1, 2, 3, 9].map((fill) => new Uint8Array(32).fill(fill))
if (!first || !second || !third || !wrong) throw new Error('there are four keys')

/** Everything that the store holds of payloads, as text. */
async function contentsOf(store: InboxStore): Promise<string> {
  await store.open(() => {})
  const rows = (await store.copy?.read('contents')) ?? []
  await store.close()
  return rows.map(({ body, metadata }) => `${toText(body)}${toText(metadata)}`).join()
}

const toText = (value: unknown) => Buffer.from(value as Uint8Array).toString('latin1')

test.each([
  ['SQLite', 'Postgres'],
  ['Postgres', 'SQLite'],
] as const)(
  'an encrypted inbox moves from %s to %s, is interrupted on the way, and its keys rotate on',
  async (source, target) => {
    const [from, to] = [engines[source](), engines[target]()]
    const [older, newer] = ['One', 'Two'].map((name, at) => {
      return event('verification.approved', { id: `ver_${at}`, subjectName: `Canary ${name}` })
    })
    const begun = setUp({ store: from(), encryption: { key: first } })
    await begun.deliver(older)
    await begun.inbox.close()
    const rotated = setUp({ store: from(), encryption: { key: second, previous: [first] } })
    await rotated.deliver(newer)
    await rotated.inbox.close()

    const stop = new AbortController()
    const onProgress = ({ table }: { readonly table: string }) => {
      if (table === 'contents') stop.abort()
    }
    const stopped = moveInbox(from(), to(), { signal: stop.signal, onProgress })
    await expect(stopped).rejects.toThrow()
    expect(await moveInbox(from(), to())).toMatchObject({ isResumed: true })
    const contents = await contentsOf(to())
    expect(contents.length).toBeGreaterThan(100)
    expect(contents).not.toContain('Canary')
    expect(contents).toBe(await contentsOf(from()))

    const sealed = { code: 'STORE_SEALED' }
    for (const encryption of [{ key: wrong }, { key: third, previous: [first] }]) {
      const inbox = createInbox({ store: to(), encryption })
      await expect(inbox.open()).rejects.toMatchObject(sealed)
    }
    await expect(createInbox({ store: to() }).open()).rejects.toMatchObject(sealed)

    const encryption = { key: third, previous: [second, first] }
    const { receiver, worker, inbox, deliver } = setUp({ store: to(), encryption })
    const names: unknown[] = []
    receiver.on('verification.approved', ({ data }) => {
      names.push(data.subjectName)
    })
    expect((await deliver(older)).kind).toBe('duplicate')
    expect(await worker.runOnce()).toMatchObject({ done: 2 })
    expect(names.sort()).toEqual(['Canary One', 'Canary Two'])
    await worker.drain()
    await inbox.close()
    const behind = createInbox({ store: to(), encryption: { key: second } })
    await expect(behind.open()).rejects.toMatchObject(sealed)
  },
)
