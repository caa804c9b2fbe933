export { type CliRecord, type ExitCode, exitCodes, type LinesByCommand } from './records.ts'
