// A command whose options can also be set by the environment: `--to` is IDV_TO.
import { Command, type Option } from 'commander'
import { repeated } from './repeated.ts'

/** Gives every option that takes one value its variable, before commander looks for one. */
export class CommandWithVariables extends Command {
  override addOption(option: Option): this {
    const variable = variableOf(option)
    return super.addOption(variable === undefined ? option : option.env(variable))
  }
}

function variableOf(option: Option): string | undefined {
  const takesOne = (option.required || option.optional) && !option.variadic
  if (!takesOne || option.parseArg === repeated) return undefined
  return variableName(option.attributeName())
}

/** The variable of a setting: `secretFile` is IDV_SECRET_FILE. */
export function variableName(key: string): string {
  return `IDV_${key.replaceAll(/[A-Z]/g, '_$&').toUpperCase()}`
}
