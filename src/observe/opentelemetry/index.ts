export { openTelemetry, type Telemetry } from './telemetry.ts'
