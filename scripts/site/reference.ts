// Reference pages from source: the command line from its own command table, the API by typedoc.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Application } from 'typedoc'
import { root } from './pages.ts'
import { staged, write } from './stage.ts'

interface CommandMap {
  readonly name: string
  readonly summary: string
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[]
  readonly options: readonly CommandOption[]
  readonly commands: readonly CommandMap[]
}

interface CommandOption {
  readonly flags: string
  readonly description: string
  readonly variable?: string
  readonly choices?: readonly string[]
}

/** The page of all commands with their options. */
export function writeCommands(): void {
  const map = execFileSync(process.execPath, [join(root, 'dist/cli.js'), '--map'], {
    encoding: 'utf8',
  })
  const all = sectionsOf(JSON.parse(map) as CommandMap, '')
  write(
    'reference/cli.md',
    `# All commands and options\n\nMade from the command table. [The command line](../cli.md) explains them.\n\n${all.join('\n')}`,
  )
}

function sectionsOf(command: CommandMap, parents: string): string[] {
  const name = `${parents} ${command.name}`.trim()
  const operands = command.arguments.map((one) =>
    one.required ? `<${one.name}>` : `[${one.name}]`,
  )
  const rows = command.options.map(rowOf)
  const table =
    rows.length > 0 ? `\n| option | does | variable |\n|---|---|---|\n${rows.join('\n')}\n` : ''
  const own = `## ${name}\n\n\`${[name, ...operands].join(' ')}\`: ${escaped(command.summary.replace(/\.+$/, ''))}.\n${table}`
  return [own, ...command.commands.flatMap((one) => sectionsOf(one, name))]
}

const rowOf = ({ flags, description, variable, choices }: CommandOption) => {
  const values = choices ? ` (${choices.join(', ')})` : ''
  const cell = variable === undefined ? '' : `\`${variable}\``
  return `| \`${flags}\` | ${escaped(description + values)} | ${cell} |`
}

const escaped = (text: string) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')

/** A page for each door, with every exported name, from the sources and their docstrings. */
export async function writeApi(): Promise<readonly string[]> {
  const doors = doorsOf()
  const app = await Application.bootstrapWithPlugins({
    plugin: ['typedoc-plugin-markdown'],
    entryPoints: doors.map(({ source }) => source),
    tsconfig: join(root, 'tsconfig.json'),
    basePath: root,
    skipErrorChecking: true,
    disableSources: true,
    readme: 'none',
    excludeInternal: true,
    excludePrivate: true,
    logLevel: 'Error',
    ...markdown,
  })
  const project = await app.convert()
  if (!project) throw new Error('typedoc read no project')
  for (const child of project.children ?? []) {
    const door = doors.find(({ module }) => module === child.name)
    if (!door)
      throw new Error(`typedoc names a module ${child.name}, which is the source of no door`)
    child.name = door.name
  }
  await app.generateOutputs(project)
  if (app.logger.hasErrors()) throw new Error('typedoc failed: see above')
  return doors.map(({ name }) => name)
}

/** The page at `/reference/`. */
export function writeReferenceIndex(modules: readonly string[]): void {
  const lines = modules.map((name) => `- [\`${name}\`](<./api/${name}/index.md>)`)
  const commands = '[Commands and options](./cli.md) · [Examples](../examples/index.md)'
  write('reference/index.md', `# Reference\n\n${commands}\n\n${lines.join('\n')}\n`)
}

const markdown = {
  outputs: [{ name: 'markdown', path: join(staged, 'reference/api') }],
  // A page for each exported name: the core on one page had 87,000 pixels.
  router: 'member',
  entryFileName: 'index',
  hidePageHeader: true,
  hideBreadcrumbs: true,
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  useCodeBlocks: true,
  expandObjects: true,
  sanitizeComments: true,
  useHTMLAnchors: true,
} as Record<string, unknown>

/** The doors of package.json with the source that tsconfig.json names for each. */
function doorsOf() {
  const json = (file: string) => JSON.parse(readFileSync(join(root, file), 'utf8'))
  const { exports } = json('package.json') as { exports: Record<string, unknown> }
  const { paths } = json('tsconfig.json').compilerOptions as { paths: Record<string, string[]> }
  return Object.keys(exports)
    .filter((door) => door !== './package.json')
    .map((door) => {
      const name = door.replace(/^\./, 'idv-webhooks')
      const source = join(root, paths[name]?.[0] ?? '')
      // Typedoc names a module by its path.
      return { name, source, module: relative(root, source).replace(/(\/index)?\.ts$/, '') }
    })
}
