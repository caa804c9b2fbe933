// The results as SARIF 2.1.0, for code scanning services.
import { pathToFileURL } from 'node:url'
import type { MigratedFile } from './migrate-files.ts'

const rules = {
  'legacy-event-name': 'A legacy event name; migrate code --write renames it.',
  'legacy-api-path': 'A legacy API path; migrate code --paths --write renames it.',
  'possible-api-path': 'A path that may be a legacy API path; a person must check it.',
  'dynamic-event-name': 'A legacy event name that is built at run time; a person must check it.',
  'received-event-name':
    'A legacy event name beside receivedName, canonicalName or legacyNames; it stays unchanged.',
  'hand-written-receiver':
    'A legacy event name in a file that verifies deliveries without this package; it stays unchanged.',
  'event-name-mention': 'A legacy event name in a file that is not renamed automatically.',
  'event-name-collision': 'A legacy name and its replacement are registered in the same place.',
  unreadable: 'A file that could not be parsed.',
} as const

type Rule = keyof typeof rules

const warnings: ReadonlySet<Rule> = new Set([
  'dynamic-event-name',
  'possible-api-path',
  'received-event-name',
  'hand-written-receiver',
  'event-name-mention',
])

/** The SARIF log of a run. */
export function toSarif(files: readonly MigratedFile[], cwd: string): object {
  return {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json',
    version: '2.1.0',
    runs: [
      {
        tool: {
          driver: {
            name: 'idv-webhooks migrate code',
            rules: Object.entries(rules).map(([id, text]) => ({ id, shortDescription: { text } })),
          },
        },
        originalUriBaseIds: { ROOT: { uri: `${pathToFileURL(cwd).href}/` } },
        columnKind: 'utf16CodeUnits',
        results: files.flatMap(resultsOf),
      },
    ],
  }
}

function ruleOf(kind: MigratedFile['findings'][number]['kind']): Rule {
  if (kind === 'collision') return 'event-name-collision'
  if (kind === 'received') return 'received-event-name'
  if (kind === 'receiver') return 'hand-written-receiver'
  if (kind === 'mention') return 'event-name-mention'
  return kind === 'path' ? 'possible-api-path' : 'dynamic-event-name'
}

function resultsOf({ file, edits, findings, error }: MigratedFile): object[] {
  const result = (rule: Rule, text: string, at: { line?: number; column?: number }) => ({
    ruleId: rule,
    level: warnings.has(rule) ? 'warning' : 'error',
    message: { text },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: encodeURI(file.replaceAll('\\', '/')), uriBaseId: 'ROOT' },
          region: { startLine: at.line ?? 1, startColumn: at.column ?? 1 },
        },
      },
    ],
  })
  return [
    ...edits.map((edit) =>
      result(
        edit.from.includes('/') ? 'legacy-api-path' : 'legacy-event-name',
        `${edit.from} is ${edit.to} now`,
        edit,
      ),
    ),
    ...findings.map((one) => {
      return result(ruleOf(one.kind), `${one.text}: ${one.suggestion}`, one)
    }),
    ...(error ? [result('unreadable', error.message, error)] : []),
  ]
}
