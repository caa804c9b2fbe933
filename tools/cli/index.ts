export { type ExitCode, exitCodes } from './exit-code.ts'
export type { CliRecord, LinesByCommand } from './records.ts'
