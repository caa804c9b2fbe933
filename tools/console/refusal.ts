// Refusals of the console, which its pages show.

/** A refusal of the console, in the service's own error form. */
export class ConsoleRefusal {
  readonly status: number
  readonly code: string
  readonly message: string

  constructor(status: number, code: string, message: string) {
    this.status = status
    this.code = code
    this.message = message
  }
}
