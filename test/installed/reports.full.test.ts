import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { apiReport } from '../../scripts/api-report.ts'
import { type Sizes, sizeReport } from '../../scripts/size-report.ts'

const root = resolve(import.meta.dirname, '../..')
const reports = join(root, 'scripts/reports')

test('scripts/reports/api.md has the types of every door as they are built: npm run reports', async () => {
  const report = apiReport(root)
  expect(report).toContain('## idv-webhooks/express')
  expect(report).toMatch(/function createReceiver[\s\S]*ReceiverOptions/)
  expect(report).not.toContain('/**')
  await expect(report).toMatchFileSnapshot(join(reports, 'api.md'))
})

test('no door has grown by more than a tenth since scripts/reports/size.json: npm run reports', async () => {
  const before = JSON.parse(readFileSync(join(reports, 'size.json'), 'utf8')) as Sizes
  const now = await sizeReport(root)
  expect(Object.keys(now)).toEqual(Object.keys(before))
  const grown = Object.entries(now).filter(([door, size]) => size > (before[door] ?? 0) * 1.1 + 1)
  expect(grown).toEqual([])
})
