// completion: scripts for the shells, generated from the declared commands.
import { Argument, type Command } from 'commander'
import { eventNames, legacyNames } from '../../../src/protocol/index.ts'
import { bashScript, fishScript, type Words, zshScript } from '../completion-scripts.ts'
import { exitCodes } from '../exit-code.ts'
import { SchemeOption } from '../scheme-option.ts'
import { act, declare, type Session } from '../session.ts'

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const

export const completion = (session: Session): Command => {
  const command = declare('completion', {
    summary: 'print a completion script for bash, zsh or fish',
    details: [
      'Prints a completion script for bash, zsh or fish. If idv-webhooks is not installed globally, the script also defines a function of that name that calls npx idv-webhooks.',
    ],
    examples: [
      'idv-webhooks completion bash > ~/.local/share/bash-completion/completions/idv-webhooks',
      'source <(idv-webhooks completion zsh)   # in ~/.zshrc',
      'idv-webhooks completion fish > ~/.config/fish/completions/idv-webhooks.fish',
    ],
  })
  return command
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .action(
      act<object>(session, async (_, [shell = '']) => {
        const root = command.parent ?? command
        const script = scripts[shell as keyof typeof scripts](wordsOf(root))
        session.out.record({ type: 'completion', shell, script })
        session.out.data(script.trimEnd())
        return exitCodes.ok
      }),
    )
}

/** The words that may follow each command; the root has the empty path. */
function wordsOf(command: Command, path: readonly string[] = []): readonly Words[] {
  const own: Words = {
    path,
    summary: command.summary(),
    commands: command.commands.map((one) => ({ name: one.name(), summary: one.summary() })),
    options: command.options.map((one) => ({
      flag: one.long ?? one.flags,
      description: one.description,
      takesValue: one.required || one.optional,
      choices: one.argChoices ?? (one instanceof SchemeOption ? one.suggestions : []),
      takesFile: !one.argChoices,
    })),
    values: path[0] === 'send' ? [...eventNames, ...legacyNames] : choicesOf(command),
  }
  return [own, ...command.commands.flatMap((one) => wordsOf(one, [...path, one.name()]))]
}

function choicesOf(command: Command): readonly string[] {
  return command.registeredArguments.flatMap((one) => one.argChoices ?? [])
}
