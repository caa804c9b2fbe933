// Completion scripts for bash, zsh and fish: static text, so that pressing Tab starts no program.

/** What may follow a command; `path` is the command and its parents, the root's is empty. */
export interface Words {
  readonly path: readonly string[]
  readonly summary: string
  readonly commands: readonly { readonly name: string; readonly summary: string }[]
  readonly options: readonly {
    readonly flag: string
    readonly description: string
    readonly takesValue: boolean
    readonly choices: readonly string[]
  }[]
  /** Values of its first argument, where they are known. */
  readonly values: readonly string[]
}

const namesOf = (one: Words) => one.commands.map(({ name }) => name)
const flagsOf = (one: Words) => one.options.map(({ flag }) => flag)

/** Follows the words typed so far down the tree. */
function walk(all: readonly Words[], indent: string): string {
  const paths = all.filter(({ path }) => path.length > 0).map(({ path }) => path.join(' '))
  return paths.map((path) => `${indent}"${path}") at="${path}" ;;`).join('\n')
}

function choiceCases(all: readonly Words[], indent: string): string {
  const options = all.flatMap((one) => one.options)
  const chosen = new Map(
    options.filter(({ choices }) => choices.length > 0).map((one) => [one.flag, one.choices]),
  )
  const free = [...new Set(options.filter((one) => one.takesValue).map(({ flag }) => flag))].filter(
    (flag) => !chosen.has(flag),
  )
  return [
    ...[...chosen].map(([flag, choices]) => `${indent}${flag}) offer="${choices.join(' ')}" ;;`),
    ...(free.length > 0 ? [`${indent}${free.join('|')}) files=1 ;;`] : []),
  ].join('\n')
}

function wordCases(all: readonly Words[], indent: string): string {
  return all
    .map((one) => {
      const words = [...namesOf(one), ...one.values, ...flagsOf(one)]
      return `${indent}"${one.path.join(' ')}") offer="${words.join(' ')}" ;;`
    })
    .join('\n')
}

/** A script for bash 3.2 and newer, and for zsh by its bashcompinit. */
export function bashScript(all: readonly Words[]): string {
  return `# bash completion of idv-webhooks
_idv_webhooks() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local at="" offer="" files="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "\${at:+$at }\${COMP_WORDS[i]}" in
${walk(all, '      ')}
    esac
  done
  case "$prev" in
${choiceCases(all, '    ')}
    *)
      case "$at" in
${wordCases(all, '        ')}
      esac ;;
  esac
  COMPREPLY=()
  if [ -n "$offer" ]; then COMPREPLY=($(compgen -W "$offer" -- "$cur")); fi
  if [ -n "$files" ] || [ \${#COMPREPLY[@]} -eq 0 ]; then
    COMPREPLY+=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _idv_webhooks idv-webhooks
`
}

/** A script for zsh, which runs that of bash. */
export function zshScript(all: readonly Words[]): string {
  return `autoload -U +X bashcompinit && bashcompinit
${bashScript(all)}`
}

/** A script for fish 3 and newer. */
export function fishScript(all: readonly Words[]): string {
  return [
    '# fish completion of idv-webhooks',
    'complete -c idv-webhooks -f',
    ...all.flatMap(fishLines),
    '',
  ].join('\n')
}

function fishLines(one: Words): readonly string[] {
  const when = condition(one)
  const line = (rest: string) => `complete -c idv-webhooks -n ${quote(when)} ${rest}`
  return [
    ...one.commands.map(({ name, summary }) => line(`-a ${quote(name)} -d ${quote(summary)}`)),
    ...(one.values.length > 0 ? [line(`-a ${quote(one.values.join(' '))}`)] : []),
    ...one.options.map(({ flag, description, takesValue, choices }) => {
      const value = choices.length > 0 ? ` -x -a ${quote(choices.join(' '))}` : ' -r -F'
      return line(
        `-l ${flag.replace(/^--/, '')} -d ${quote(description)}${takesValue ? value : ''}`,
      )
    }),
    ...(one.path.length > 0 && one.commands.length === 0 && one.values.length === 0
      ? [line('-F')]
      : []),
  ]
}

function condition({ path, commands }: Words): string {
  if (path.length === 0) return '__fish_use_subcommand'
  const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`).join('; and ')
  if (commands.length === 0) return seen
  const below = commands.map(({ name }) => name).join(' ')
  return `${seen}; and not __fish_seen_subcommand_from ${below}`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
