import { test } from 'vitest'
import { sized } from '../../tier.ts'
import { expectAlike } from '../model.ts'
import { emptySql, poolOf, schemaOn } from './servers.ts'

test('memory and Postgres answer alike, whatever is asked in whatever order', async () => {
  const { schema, open } = schemaOn()
  let isMade = false
  const create = async () => {
    if (isMade) await poolOf().query(emptySql(schema))
    isMade = true
    return open({ listen: false })
  }
  await expectAlike(create, Number(process.env.MODEL_RUNS ?? sized(4, 12)))
}, 600_000)
