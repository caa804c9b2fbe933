// The steps of the work at which a process of the campaign is killed: before a statement is sent,
// while it is under way, and after its answer came but before anything else happened.
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresDriver } from 'idv-webhooks/inbox/postgres'

const around = (statement: string) =>
  (['before', 'during', 'after'] as const).map((when) => `${when} ${statement}`)

/** Each step is a statement of the store, and when. */
export const steps = {
  receiver: [...around('keep'), 'after pg_notify', 'during beat'],
  worker: [
    ...around('claim'),
    'after effects',
    ...around('checkpoint'),
    ...around('commit'),
    ...around('settle'),
    'during renew',
    'during lapsed',
  ],
} as const

/** Kills this process at the step that it is told. */
export class Death {
  step = ''

  at(step: string): void {
    if (this.step === step) process.kill(process.pid, 'SIGKILL')
  }

  async around<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
    this.at(`before ${what}`)
    const working = work()
    // It may fail before anything awaits it: a server is killed too.
    working.catch(() => {})
    if (this.step === `during ${what}`) {
      await sleep(Math.random() * 3)
      this.at(`during ${what}`)
    }
    const result = await working
    this.at(`after ${what}`)
    return result
  }
}

/** The driver, with a death at each of its statements. */
export function dying<Tx>(driver: PostgresDriver<Tx>, death: Death): PostgresDriver<Tx> {
  const named = (text: string) =>
    /(?:\.alone_|\.(?=checkpoint|lapsed)|\b(?=pg_notify))(\w+)\(/.exec(text)?.[1] ?? 'other'
  return {
    ...driver,
    query: (text, values, signal) =>
      death.around(named(text), () => driver.query(text, values, signal)),
    begin: async (signal) => {
      const tx = await driver.begin(signal)
      return {
        ...tx,
        query: (text, values) => death.around(named(text), () => tx.query(text, values)),
        commit: () => death.around('commit', () => tx.commit()),
      }
    },
  }
}
