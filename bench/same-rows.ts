// The rows that an inbox writes for a delivery, written by hand into the same tables and indexes: the
// commit of an acknowledgement, without the package.
import { randomBytes } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'

type Row = Record<string, string | number | bigint | Uint8Array | null>

/** `model` is a file in which an inbox has kept one delivery. */
export function sameRows(model: string, file: string): (bodies: readonly Buffer[]) => void {
  const from = new DatabaseSync(model, { readOnly: true })
  const all = (sql: string) => from.prepare(sql).all() as Row[]
  const [entry = {}] = all('select * from idv_entries')
  const [content = {}] = all('select * from idv_contents')
  const [lane = {}] = all('select * from idv_lanes')
  const keys = all('select * from idv_keys')
  const schema = all("select sql from sqlite_master where sql is not null and name like 'idv%'")
  from.close()
  const db = new DatabaseSync(file)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  for (const { sql } of schema) db.exec(String(sql))
  db.exec("insert into idv_counts values ('stored', 0)")
  const inserting = (table: string, row: Row) => {
    const columns = Object.keys(row)
    const marks = columns.map(() => '?').join()
    const sql = `insert into ${table} (${columns}) values (${marks}) on conflict do nothing`
    const statement = db.prepare(sql)
    return (changed: Row) => statement.run(...Object.values({ ...row, ...changed }))
  }
  const { seq: _, ...fields } = entry
  const addEntry = inserting('idv_entries', fields)
  const addContent = inserting('idv_contents', content)
  const addLane = inserting('idv_lanes', lane)
  const addKeys = keys.map((key) => inserting('idv_keys', key))
  const count = db.prepare('update idv_counts set count = count + 1 where state = ?')
  let at = 0
  return (bodies) => {
    db.exec('begin immediate')
    for (const body of bodies) {
      // Ids rise, as UUIDv7 does; keys are digests.
      const id = `${String(++at).padStart(12, '0')}${randomBytes(12).toString('hex')}`
      const { lastInsertRowid: seq } = addEntry({ id })
      addContent({ seq, body })
      for (const add of addKeys) add({ key: randomBytes(24).toString('base64url'), entry: id })
      addLane({ lane: `${lane.lane} ${at % 997}`, head: seq, floor: seq })
      count.run('stored')
    }
    db.exec('commit')
  }
}
