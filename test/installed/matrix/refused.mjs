import { createClient } from 'idv-webhooks/client'

const [baseUrl, first] = process.argv.slice(2)
let attempts = 0
const observe = ({ endpoint }) => {
  if (endpoint === 'createClient') attempts += 1
}
const client = createClient({ baseUrl, apiKey: 'k', retry: { retries: 2, baseDelay: 10 }, observe })
if (first === 'kept') await client.clients.list()
const code = await client.clients.create({ externalId: '1' }).then(
  () => 'created',
  (error) => error.code,
)
console.log(JSON.stringify([code, attempts]))
