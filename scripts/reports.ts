// npm run reports: writes reports/api.md and reports/size.json from the built package.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { apiReport } from './api-report.ts'
import { sizeReport } from './size-report.ts'

const root = resolve(import.meta.dirname, '..')
mkdirSync(join(root, 'reports'), { recursive: true })
writeFileSync(join(root, 'reports/api.md'), apiReport(root))
writeFileSync(
  join(root, 'reports/size.json'),
  `${JSON.stringify(await sizeReport(root), null, 2)}\n`,
)
