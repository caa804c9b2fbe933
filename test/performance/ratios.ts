// Compares this package with the recipe that one writes by hand, in this process, in turns, everything
// on, 2 KB: prints how many times faster it is; with `allocations`, how many times as much it
// allocates, which needs flags of Node that make speed depend on the pages of the machine.
import { createReceiver, sign } from 'idv-webhooks'
import { eventSchemas } from 'idv-webhooks/protocol'
import { vendors } from 'idv-webhooks/vendors'
import { allocated } from '../../bench/allocated.ts'
import { compare } from '../../bench/compare.ts'
import { finish, type Sample, wrongSignature } from '../../bench/contenders/contender.ts'
import { verifyAndParse } from '../../bench/contenders/recipe.ts'
import { digest, eventName, headersOf, makeBody, secret } from '../../bench/deliveries.ts'

const body = makeBody('2K')
const signature = digest(body)
const sample: Sample = {
  body,
  signature,
  schema: eventSchemas[eventName],
  handler: (event) => event !== undefined,
}
const receiver = createReceiver({ secret, observe() {} })
receiver.on(eventName, (event) => {
  sample.handler(event)
})
const delivery = { body, headers: headersOf(body, signature) }
const forged = { body, headers: headersOf(body, wrongSignature) }

const refuse = () => {
  try {
    verifyAndParse(body, wrongSignature)
  } catch {
    return true
  }
  return false
}

// A receiver of a vendor in the same process, whose other scheme the engine has seen at work.
const vendor = vendors.persona()
const ofVendor = createReceiver({ vendor, secret, observe() {} })
const told = new TextEncoder().encode(JSON.stringify(vendor.fixtures[0]?.body))
const besides = { body: told, headers: await sign(told, { secret, scheme: vendor.scheme }) }
for (let at = 0; process.argv.includes('beside-a-vendor') && at < 5000; at++) {
  if ((await ofVendor.receive(besides)).kind !== 'ignored') throw new Error('not a vendor event')
}

const recipe = async () => finish(verifyAndParse(body, signature), sample)
const ours = async () => (await receiver.receive(delivery)).kind === 'handled'
const rejected = async () => (await receiver.receive(forged)).kind === 'rejected'

async function speeds() {
  const found = await compare(
    [
      { group: 'genuine', name: 'recipe', run: recipe },
      { group: 'genuine', name: 'ours', run: ours },
      { group: 'forged', name: 'recipe', run: refuse },
      { group: 'forged', name: 'ours', run: rejected },
    ],
    { rounds: 41, sliceMs: 8, warmMs: 250 },
  )
  const of = (group: string) =>
    found.find((one) => one.group === group && one.name === 'ours')?.faster.recipe
  return { genuine: of('genuine'), forged: of('forged') }
}

async function allocations() {
  const times = 2_000
  // Compiled code allocates less.
  for (let at = 0; at < 20_000; at++) await ours()
  return { allocated: (await allocated(ours, times)).heap / (await allocated(recipe, times)).heap }
}

const measure = process.argv.includes('allocations') ? allocations : speeds
process.stdout.write(JSON.stringify(await measure()))
