// The promises of the functions hold on the schema as it is, and each is seen to fail on a schema
// that is broken on purpose.
import { fromPg, postgresStore } from 'idv-webhooks/inbox/postgres'
import { describe, expect, onTestFinished, test } from 'vitest'
import { schemaSql } from '../../../src/inbox/stores/postgres/migrations.ts'
import { clientOf, type PromiseName, promises, type Under } from './promises.ts'
import { freshSchema, poolOf, servers } from './servers.ts'

type Change = readonly [from: string | RegExp, to: string]

/** Ways to break the schema: what is replaced, and the promise that must notice. */
const mutations: readonly {
  readonly name: string
  readonly changes: readonly Change[]
  readonly noticed: PromiseName
}[] = [
  {
    name: 'NOTIFY in the transaction that keeps',
    changes: [
      [
        'perform $S.count(v_stored, 0, 0, 0, 0, 0);',
        "perform $S.count(v_stored, 0, 0, 0, 0, 0); perform pg_notify('x', '');",
      ],
    ],
    noticed: 'keeping announces nothing within its transaction',
  },
  {
    name: 'a claim whose joins may hash',
    changes: [
      // The plan that the planner chooses if it does not know how few rows are wanted.
      [/set enable_seqscan = off\s+set enable_bitmapscan = off/g, 'set enable_nestloop = off'],
      [/set enable_hashjoin = off\s+set enable_mergejoin = off/g, ''],
    ],
    noticed: 'a claim reads as many rows as it takes, of 100,000 that wait',
  },
  {
    name: 'an assignment that keeps the time of the lane which an entry leaves',
    changes: [
      ['due := $S.release(e.seq, e.lane, p_now);', 'perform $S.release(e.seq, e.lane, p_now);'],
    ],
    noticed: 'the next of the lane that an entry leaves is found at once, however long it is due',
  },
  {
    name: 'an opening that goes by the lane of before',
    changes: [['and v.lane = e.lane and exists', 'and exists']],
    noticed: 'an entry that gets another lane meanwhile is opened in no other',
  },
  {
    name: 'the number of an entry before the lock of its lane',
    changes: [
      [
        'v_made := $S.lock_lanes(',
        "perform nextval('$S.entries_seq_seq'); v_made := $S.lock_lanes(",
      ],
      [
        '(id, state, lane, related, name, received_name, source, occurred_at,',
        '(seq, id, state, lane, related, name, received_name, source, occurred_at,',
      ],
      ["select e.id, 'stored'", "select currval('$S.entries_seq_seq'), e.id, 'stored'"],
      // The floor would go down with it.
      ['l.floor > f.seq', 'false'],
    ],
    noticed: 'an entry that commits late is not passed over',
  },
  {
    name: 'a claim that is no sign of life',
    changes: [['e.watched - o.watched > 6000 ', 'e.watched - o.watched > 6000000 ']],
    noticed: 'a claim is a sign of life: what an owner takes as it comes back is not taken from it',
  },
  {
    name: 'a purge that waits for nobody',
    changes: [[/if p_wait then(?=\s+perform 1 from \S+versions)/, 'if false then']],
    noticed: "an operator's purge waits for that of another process, whose retention is its own",
  },
  {
    name: 'an operator who counts as one that watches',
    changes: [['if p_gap is null then', 'p_gap := coalesce(p_gap, 6000); if false then']],
    noticed: 'who only looks says nothing of others, however often',
  },
  {
    name: 'a sweep that repeats another',
    changes: [['elsif s.sweeps is null and ', 'elsif ']],
    noticed: 'a crash is taken by one of those that sweep',
  },
  {
    name: 'liveness that only processes which run for long can judge',
    changes: [[' or everyone.gaps - o.gaps > 1)', ')']],
    noticed: 'a lease that is over lapses with the second gap, where processes come and go',
  },
  {
    name: 'gaps that an owner does not remember',
    changes: [
      [
        'set seen = v_now, watched = excluded.watched, gaps = excluded.gaps',
        'set seen = v_now, watched = excluded.watched',
      ],
    ],
    noticed: 'two outages count against nobody who came back between them',
  },
  {
    name: 'liveness by the lock of a connection alone',
    changes: [
      [
        'when everyone.watched - o.watched > p_grace then true',
        `when not exists (select 1 from pg_locks k where k.locktype = 'advisory'
          and k.objid::bigint = e.owner) then true`,
      ],
    ],
    noticed: 'a lease does not lapse while its owner gives signs of life',
  },
  {
    name: 'the head of a lane by reading all of it',
    changes: [
      [/set enable_seqscan = off\s+set enable_bitmapscan = off/g, 'set enable_indexscan = off'],
    ],
    noticed: 'the next of a lane is found without reading what waits behind it',
  },
  {
    name: 'a settlement by the index of leased entries',
    changes: [[/ \|\| '' = 'leased'/g, " = 'leased'"]],
    noticed: 'a settlement reads what it settles, whatever else is or was leased',
  },
  {
    name: 'silence that is never judged',
    changes: [['everyone.watched - o.watched > p_grace', 'false']],
    noticed: 'an owner that fell silent is gone, also when its connections still stand',
  },
  {
    name: 'an outage that counts as silence',
    changes: [
      [
        'case when v_now - o.seen between 0 and p_gap then v_now - o.seen else 0 end',
        'v_now - o.seen',
      ],
    ],
    noticed: 'an outage counts against nobody',
  },
  {
    name: 'a watch that begins anew after every outage',
    changes: [['then v_now - o.seen else 0 end', 'then v_now - o.seen else -o.watched end']],
    noticed: 'a silence from before an outage is remembered after it',
  },
  {
    name: 'a fence without its owner',
    changes: [[/e\.fence = s\.fence and e\.owner = s\.owner/g, 'e.fence = s.fence']],
    noticed: 'a fence of another owner settles nothing',
  },
  {
    name: 'locked lanes that are passed over for ever',
    changes: [['if p_wait then', 'if false then']],
    noticed: 'a lane that deliveries hold without a pause is claimed all the same',
  },
  {
    name: 'any isolation level',
    changes: [["<> 'read committed'", "= 'none'"]],
    noticed: 'a function sees what its lane has waited for, or refuses',
  },
  {
    name: 'the durability that the session prefers',
    changes: [["perform set_config('synchronous_commit', 'on', true);", 'null;']],
    noticed: 'what is acknowledged is synced, whatever the session prefers',
  },
]

/** A store over a schema of its own, with changes. */
async function under(changes: readonly Change[]): Promise<Under> {
  const schema = freshSchema()
  const quoted = `"${schema}"`
  let sql = schemaSql(schema)
  for (const [from, to] of changes) {
    const pattern = typeof from === 'string' ? from.replaceAll('$S', quoted) : from
    const changed = sql.replace(pattern, () => to.replaceAll('$S', quoted))
    expect(changed, `there is nothing to change at ${String(from)}`).not.toBe(sql)
    sql = changed
  }
  await poolOf().query(sql)
  const ends: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const end of ends) await end()
  })
  const open = async () => {
    const store = postgresStore(fromPg(poolOf()), { schema, migrate: false, listen: false })
    await store.open(() => {})
    ends.unshift(() => store.close())
    return store
  }
  const connect = async () => {
    const { query, end } = await clientOf(servers.pg18, schema)
    ends.push(end)
    return query
  }
  return { store: await open(), beside: open, connect, query: await connect() }
}

const names = Object.keys(promises) as PromiseName[]

describe('the functions of the schema', () => {
  test.each(names)('%s', async (name) => {
    await promises[name](await under([]))
  })

  test.each(mutations)('broken by $name are noticed', async ({ changes, noticed }) => {
    await expect(promises[noticed](await under(changes))).rejects.toThrow()
  })
})

test('every promise of the functions has a mutation that breaks it', () => {
  expect(new Set(mutations.map(({ noticed }) => noticed))).toEqual(new Set(names))
})
