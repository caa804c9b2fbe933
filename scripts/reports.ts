// npm run reports: writes scripts/reports/api.md and scripts/reports/size.json from the built package.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { apiReport } from './api-report.ts'
import { sizeReport } from './size-report.ts'

const root = resolve(import.meta.dirname, '..')
mkdirSync(join(root, 'scripts/reports'), { recursive: true })
writeFileSync(join(root, 'scripts/reports/api.md'), apiReport(root))
writeFileSync(
  join(root, 'scripts/reports/size.json'),
  `${JSON.stringify(await sizeReport(root), null, 2)}\n`,
)
