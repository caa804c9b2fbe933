// Completion scripts for bash, zsh and fish: static text, so pressing Tab starts no program.

/** The words that can follow a command; `path` is its full name, empty for the root. */
export interface Words {
  readonly path: readonly string[]
  readonly summary: string
  readonly commands: readonly { readonly name: string; readonly summary: string }[]
  /** Its own options; those of the root apply to every command. */
  readonly options: readonly WordOption[]
  /** Values of its first argument, if known. */
  readonly values: readonly string[]
}

/** An option as a completion script needs it. */
export interface WordOption {
  readonly flag: string
  readonly description: string
  readonly takesValue: boolean
  readonly choices: readonly string[]
  /** Its value may differ from the choices. */
  readonly takesFile: boolean
}

const namesOf = (one: Words) => one.commands.map(({ name }) => name)
const flagsOf = (one: Words) => one.options.map(({ flag }) => flag)
const globalsOf = (all: readonly Words[]) =>
  all.find(({ path }) => path.length === 0)?.options ?? []

/** Follows the words typed so far through the tree of commands. */
function walk(all: readonly Words[], indent: string): string {
  const paths = all.filter(({ path }) => path.length > 0).map(({ path }) => path.join(' '))
  return paths.map((path) => `${indent}"${path}") at="${path}" ;;`).join('\n')
}

function choiceCases(all: readonly Words[], indent: string): string {
  const options = all.flatMap((one) => one.options).filter(({ takesValue }) => takesValue)
  const byFlag = new Map(options.map((one) => [one.flag, one]))
  const free = [...byFlag.values()].filter(({ choices }) => choices.length === 0)
  return [
    ...[...byFlag.values()]
      .filter(({ choices }) => choices.length > 0)
      .map(({ flag, choices, takesFile }) => {
        const files = takesFile ? '; files=1' : ''
        return `${indent}${flag}) offer="${choices.join(' ')}"${files} ;;`
      }),
    ...(free.length > 0 ? [`${indent}${free.map(({ flag }) => flag).join('|')}) files=1 ;;`] : []),
  ].join('\n')
}

function wordCases(all: readonly Words[], indent: string): string {
  const globals = globalsOf(all).map(({ flag }) => flag)
  return all
    .map((one) => {
      const own = [...namesOf(one), ...one.values, ...flagsOf(one)]
      const words = one.path.length === 0 ? own : [...own, ...globals]
      return `${indent}"${one.path.join(' ')}") offer="${words.join(' ')}" ;;`
    })
    .join('\n')
}

/** A script for bash 3.2 and newer, and for zsh by its bashcompinit. */
export function bashScript(all: readonly Words[]): string {
  return `# bash completion of idv-webhooks
_idv_webhooks() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local at="" offer="" files="" joined="" i
  # --flag=value: bash splits it at the sign, zsh does not.
  if [ "$cur" = "=" ]; then
    cur=""
  elif [ "$prev" = "=" ]; then
    prev="\${COMP_WORDS[COMP_CWORD-2]}"
  else
    case "$cur" in
      --*=*) joined="\${cur%%=*}="; prev="\${cur%%=*}"; cur="\${cur#*=}" ;;
    esac
  fi
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
  if [ -n "$offer" ]; then COMPREPLY=($(compgen -P "$joined" -W "$offer" -- "$cur")); fi
  if [ -n "$files" ] || [ \${#COMPREPLY[@]} -eq 0 ]; then
    COMPREPLY+=($(compgen -P "$joined" -f -- "$cur"))
  fi
}
complete -o filenames -F _idv_webhooks idv-webhooks
# Not installed globally: the name calls npx.
command -v idv-webhooks >/dev/null || idv-webhooks() { npx idv-webhooks "$@"; }
`
}

/** A script for zsh, which runs the script for bash. */
export function zshScript(all: readonly Words[]): string {
  return `autoload -U +X bashcompinit && bashcompinit
${bashScript(all)}`
}

/** A script for fish 3 and newer. */
export function fishScript(all: readonly Words[]): string {
  return [
    '# fish completion of idv-webhooks',
    ...walkFish(all),
    'complete -c idv-webhooks -f',
    ...globalsOf(all).map((one) => `complete -c idv-webhooks ${fishOption(one)}`),
    ...all.flatMap(fishLines),
    '# Not installed globally: the name calls npx.',
    'type -q idv-webhooks; or function idv-webhooks; npx idv-webhooks $argv; end',
    '',
  ].join('\n')
}

/** True while the words typed so far lead exactly to this command. */
function walkFish(all: readonly Words[]): readonly string[] {
  const paths = all.filter(({ path }) => path.length > 0).map(({ path }) => quote(path.join(' ')))
  return [
    'function __idv_webhooks_at',
    "  set -l at ''",
    '  for word in (commandline -opc)[2..-1]',
    '    set -l next (string trim -- "$at $word")',
    `    contains -- $next ${paths.join(' ')}; and set at $next`,
    '  end',
    '  test "$at" = "$argv[1]"',
    'end',
  ]
}

function fishLines(one: Words): readonly string[] {
  const when = quote(`__idv_webhooks_at ${quote(one.path.join(' '))}`)
  const line = (rest: string) => `complete -c idv-webhooks -n ${when} ${rest}`
  const isRoot = one.path.length === 0
  return [
    ...one.commands.map(({ name, summary }) => line(`-a ${quote(name)} -d ${quote(summary)}`)),
    ...(one.values.length > 0 ? [line(`-a ${quote(one.values.join(' '))}`)] : []),
    ...(isRoot ? [] : one.options.map((option) => line(fishOption(option)))),
    ...(!isRoot && one.commands.length === 0 && one.values.length === 0 ? [line('-F')] : []),
  ]
}

function fishOption({ flag, description, takesValue, choices, takesFile }: WordOption): string {
  const own = `-l ${flag.replace(/^--/, '')} -d ${quote(description)}`
  if (!takesValue) return own
  const offered = choices.length > 0 ? ` -a ${quote(choices.join(' '))}` : ''
  return `${own} -r${takesFile ? ' -F' : ' -f'}${offered}`
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
