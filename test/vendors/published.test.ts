// Signatures that senders have published, in their documents or in the tests of their libraries.
// This package made none of them, so they prove that it reads a scheme as its sender does.
import { type Scheme, verify } from 'idv-webhooks'
import { senders, vendors } from 'idv-webhooks/vendors'
import { expect, test } from 'vitest'
import { secretFor } from './by-hand.ts'

interface Published {
  readonly name: string
  /** Where it is published. */
  readonly source: string
  readonly scheme: Scheme
  readonly secret: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly url?: string
  /** A time within the tolerance of the signed one. */
  readonly at?: number | string
}

const veriffBody = (vendorData: string) =>
  JSON.stringify({
    verification: {
      callback: 'https://veriff.com',
      person: { firstName: 'John', lastName: 'Smith' },
      document: { type: 'PASSPORT', country: 'EE' },
      vendorData,
      timestamp: '2016-05-19T08:30:25.597Z',
    },
  })

const onfidoCheck = 'f2302f45-227d-413d-ad61-09ec077a086a'
const onfidoRun = 'bc77c6e5-753a-4580-96a6-aaed3e5a8d19'
const onfidoTask = { id: 'profile_1eb92', task_def_id: 'profile_data' }

const stripeBody = {
  id: 'evt_123',
  object: 'event',
  account: 'acct_123',
  api_version: '2017-05-25',
  created: 1533204620,
  data: {
    object: {
      id: 'ii_123',
      object: 'invoiceitem',
      amount: 1000,
      currency: 'usd',
      customer: 'cus_123',
      date: 1533204620,
      description: 'Test Invoice Item',
      discountable: false,
      invoice: 'in_123',
      livemode: false,
      metadata: {},
      period: { start: 1533204620, end: 1533204620 },
      proration: false,
      quantity: 3,
    },
  },
  livemode: false,
  pending_webhooks: 1,
  request: { id: 'req_123', idempotency_key: 'idempotency-key-123' },
  type: 'invoiceitem.created',
}
const stripeCreated = {
  secret: 'webhook_secret',
  headers: {
    'stripe-signature':
      't=1533204620,v1=82216eca827bcb7b34b8055eb2d2d9e6bc13b9ac39ded14a61e69f70c565f53a,v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef',
  },
  body: `${JSON.stringify(stripeBody, null, 2)}\n`,
  at: 1533204620,
}

const commerceEvent = {
  id: 1,
  scheduled_for: '2017-01-31T20:50:02Z',
  attempt_number: 1,
  event: {
    id: '24934862-d980-46cb-9402-43c81b0cdba6',
    type: 'charge:created',
    api_version: '2018-03-22',
    created_at: '2017-01-31T20:49:02Z',
    data: {
      code: '66BEOV2A',
      name: 'The Sovereign Individual',
      description: 'Mastering the Transition to the Information Age',
      hosted_url: 'https://commerce.coinbase.com/charges/66BEOV2A',
      created_at: '2017-01-31T20:49:02Z',
      expires_at: '2017-01-31T21:04:02Z',
      timeline: [{ time: '2017-01-31T20:49:02Z', status: 'NEW' }],
      metadata: {},
      pricing_type: 'no_price',
      payments: [],
      addresses: {
        bitcoin: '0000000000000000000000000000000000',
        ethereum: '0x0000000000000000000000000000000000000000',
        litecoin: '3000000000000000000000000000000000',
        bitcoincash: 'bitcoincash:000000000000000000000000000000000000000000',
      },
    },
  },
}

const sendgridEvent = {
  email: 'hello@world.com',
  event: 'dropped',
  reason: 'Bounced Address',
  sg_event_id: 'ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA',
  sg_message_id: 'LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0',
  'smtp-id': '<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>',
  timestamp: 1600112492,
}

const boxBody =
  '{"type":"webhook_event","webhook":{"id":"1234567890"},"trigger":"FILE.UPLOADED","source":{"id":"1234567890","type":"file","name":"Test.txt"}}'
const boxed = {
  source: "the tests of box-node-sdk (Box's documents)",
  scheme: senders.box(),
  headers: {
    'box-delivery-timestamp': '2020-01-01T00:00:00-07:00',
    'box-signature-primary': '6TfeAW3A1PASkgboxxA5yqHNKOwFyMWuEXny/FPD5hI=',
    'box-signature-secondary': 'v+1CD1Jdo3muIcbpv5lxxgPglOqMfsNHPV899xWYydo=',
  },
  body: boxBody,
  at: '2020-01-01T00:00:00-07:00',
}

const slackBody = new URLSearchParams({
  token: 'xyzz0WbapA4vBCDEFasx0q6G',
  team_id: 'T1DC2JH3J',
  team_domain: 'testteamnow',
  channel_id: 'G8PSS9T3V',
  channel_name: 'foobar',
  user_id: 'U2CERLKJA',
  user_name: 'roadrunner',
  command: '/webhook-collect',
  text: '',
  response_url: 'https://hooks.slack.com/commands/T1DC2JH3J/397700885554/96rGlfmibIGlgcZRskXaIFfN',
  trigger_id: '398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
})

const published: readonly Published[] = [
  ...[
    [
      'unique id of the end-user',
      '0dcab73ddd20062616d104231c7439657546a5c24e4691977da93bb854c31e25',
    ],
    ['unique id of a user', '6af6d95822e19e9cc707aec55395d8d363ba2c7bc4625bc04ebeca0c7bf8cd67'],
  ].map(([vendorData = '', signature = '']) => ({
    name: `Veriff, ${vendorData}`,
    source: "Veriff's documents, as brokeyourbike/veriff-api-client-go and GENERALBYTES batm quote",
    scheme: vendors.veriff().scheme,
    secret: 'abcdef12-abcd-abcd-abcd-abcdef012345',
    headers: { 'x-hmac-signature': signature },
    body: veriffBody(vendorData),
  })),
  {
    name: 'Onfido, a check',
    source: 'onfido-python 04baf27, tests/test_classic_webhook_event_verification.py',
    scheme: vendors.onfido().scheme,
    secret: 'wU99mE6jJ7nXOLFwZ0tJymM1lpI15pZh',
    headers: {
      'x-sha2-signature': '77ebc3e418f26be6eebb47f7ebe551321de26734fc273961e075fc9ab163d9c7',
    },
    body: JSON.stringify({
      payload: {
        resource_type: 'check',
        action: 'check.completed',
        object: {
          id: onfidoCheck,
          status: 'complete',
          completed_at_iso8601: '2024-04-04T09:21:21Z',
          href: `https://api.onfido.com/v3.6/checks/${onfidoCheck}`,
        },
      },
    }),
  },
  {
    name: 'Onfido, a task of a run',
    source: 'onfido-python 04baf27, tests/test_studio_webhook_event_verification.py',
    scheme: vendors.onfido().scheme,
    secret: 'YKOC6mkBxi6yK2zlUIrLMvsJMFEZObP5',
    headers: {
      'x-sha2-signature': 'c95a5b785484f6fa1bc25f381b5595d66bf85cb442eefb06aa007802ee6a4dfa',
    },
    body: JSON.stringify({
      payload: {
        resource_type: 'workflow_task',
        action: 'workflow_task.started',
        object: {
          id: onfidoTask.id,
          task_spec_id: onfidoTask.id,
          task_def_id: onfidoTask.task_def_id,
          workflow_run_id: onfidoRun,
          status: 'started',
          started_at_iso8601: '2024-07-10T12:49:09Z',
          href: `https://api.eu.onfido.com/v3.6/workflow_runs/${onfidoRun}/tasks/${onfidoTask.id}`,
        },
        resource: {
          created_at: '2024-07-10T12:49:09Z',
          id: onfidoTask.id,
          workflow_run_id: onfidoRun,
          updated_at: '2024-07-10T12:49:09Z',
          input: {},
          task_def_version: null,
          task_def_id: onfidoTask.task_def_id,
          output: null,
        },
      },
    }),
  },
  {
    name: 'ComplyCube',
    source: "the tests of ComplyCube's PHP SDK, as baselabs/ash_hooks quotes them",
    scheme: vendors.complycube().scheme,
    secret: 'a_webhook_signature',
    headers: {
      'complycube-signature': 'bc00414fa4d54277a3ed01e5ee258d9800a918a7791c7cda16d38b82f38f2150',
    },
    body: '{"id":"value"}',
  },
  {
    name: 'Stripe Identity',
    source: 'the tests of async-stripe, after those of stripe-dotnet',
    scheme: vendors.stripeIdentity().scheme,
    ...stripeCreated,
  },
  {
    name: 'Stripe',
    source: 'the tests of async-stripe, after those of stripe-dotnet',
    scheme: senders.stripe(),
    ...stripeCreated,
  },
  ...[senders.gitlab(), senders.openai(), senders.replicate()].map((scheme) => ({
    name: `Standard Webhooks, by ${scheme.name}`,
    source: 'the tests of the standard-webhooks libraries',
    scheme,
    secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    at: 1614265330,
  })),
  {
    name: 'Svix',
    source: 'https://docs.svix.com/receiving/verifying-payloads/how-manual',
    scheme: senders.svix(),
    secret: 'whsec_plJ3nmyCDGBKInavdOK15jsl',
    headers: {
      'svix-id': 'msg_loFOjxBNrRLzqYUf',
      'svix-timestamp': '1731705121',
      'svix-signature': 'v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0=',
    },
    body: '{"event_type":"ping","data":{"success":true}}',
    at: 1731705121,
  },
  {
    name: 'GitHub',
    source:
      'https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries#testing-the-webhook-payload-validation',
    scheme: senders.github(),
    secret: "It's a Secret to Everybody",
    headers: {
      'x-hub-signature-256':
        'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
    body: 'Hello, World!',
  },
  {
    name: 'Slack',
    source: 'https://docs.slack.dev/authentication/verifying-requests-from-slack/',
    scheme: senders.slack(),
    secret: '8f742231b10e8888abcd99yyyzzz85a5',
    headers: {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    },
    body: slackBody.toString(),
    at: 1531420618,
  },
  {
    name: 'Square',
    source: "the tests of Square's SDKs",
    scheme: senders.square(),
    secret: 'Ibxx_5AKakO-3qeNVR61Dw',
    headers: { 'x-square-hmacsha256-signature': 'GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=' },
    body: '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
    url: 'https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9',
  },
  {
    name: 'HubSpot v3',
    source: 'hubspot-api-python 83aedb0, tests/spec/utils/test_signature.py',
    scheme: senders.hubspot(),
    secret: 'yyyyyyyy-yyyy-yyyy-yyyy-yyyyyyyyyyyy',
    headers: {
      'x-hubspot-request-timestamp': '15000000',
      'x-hubspot-signature-v3': 'HPW73RUtKmcYoEDADG0s6MmGFWUzWJKAW07r8RDgcQw=',
    },
    body: "{'example_field':'example_value'}",
    url: 'https://www.example.com/webhook_uri',
    at: 15_000,
  },
  {
    name: 'Wise, a delivery of its sandbox',
    source:
      'transferwise/digital-signatures-examples, verify-webhook-signature/verify-signature.js',
    scheme: senders.wise(),
    secret: `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAwpb91cEYuyJNQepZAVfP
ZIlPZfNUefH+n6w9SW3fykqKu938cR7WadQv87oF2VuT+fDt7kqeRziTmPSUhqPU
ys/V2Q1rlfJuXbE+Gga37t7zwd0egQ+KyOEHQOpcTwKmtZ81ieGHynAQzsn1We3j
wt760MsCPJ7GMT141ByQM+yW1Bx+4SG3IGjXWyqOWrcXsxAvIXkpUD/jK/L958Cg
nZEgz0BSEh0QxYLITnW1lLokSx/dTianWPFEhMC9BgijempgNXHNfcVirg1lPSyg
z7KqoKUN0oHqWLr2U1A+7kqrl6O2nx3CKs1bj1hToT1+p4kcMoHXA7kA+VBLUpEs
VwIDAQAB
-----END PUBLIC KEY-----`,
    headers: {
      'x-signature-sha256':
        'wKcKCYXAzxNgiu7xmoDm943NUni7Rz33QN8JkEA9dWSGebgndonabgSj18Y4C08OrwVmueGsED2s00M7DtJVcYKOS1i3G4TMVx+mgM3aL9djMBkQtiYNBFUd6wrPI7ZUNHv/TrlKSjTMc+6JFvUvJ7owY3z85e3I4jLRLJowMFvO8kvCJ60+1pY9wDwZvtZ//WS93LrwGjk9Dvwzpmu0w+P4J75tETT5qC3Uv0y5G2yO8SEoO3yNP/tg/BOli02niHb53vEOUWUb9bly6thnfMoXoiV/osoGxgF20R58RlvkAmezyyl1Sv542TfS2DpiwVnmjjjkCyXeSUcKookYLQ==',
    },
    body: '{"data":{"resource":{"id":49983981,"profile_id":16055450,"account_id":14124090,"type":"transfer"},"current_state":"incoming_payment_waiting","previous_state":null,"occurred_at":"2021-08-23T10:12:50Z"},"subscription_id":"90aa8e14-4ef1-4a56-861c-f3c9cde097ea","event_type":"transfers#state-change","schema_version":"2.0.0","sent_at":"2021-08-23T10:12:50Z"}',
  },
  {
    name: 'SendGrid',
    source: 'the tests of sendgrid-nodejs, packages/eventwebhook',
    scheme: senders.sendgrid(),
    secret:
      'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
    headers: {
      'x-twilio-email-event-webhook-timestamp': '1600112502',
      'x-twilio-email-event-webhook-signature':
        'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
    },
    body: `${JSON.stringify([sendgridEvent])}\r\n`,
    at: 1600112502,
  },
  {
    name: 'Sanity',
    source: 'the tests of @sanity/webhook',
    scheme: senders.sanity(),
    secret: 'test',
    headers: {
      'sanity-webhook-signature': 't=1633519811129,v1=tLa470fx7qkLLEcMOcEUFuBbRSkGujyskxrNXcoh0N0',
    },
    body: '{"_id":"resume"}',
    at: 1633519811.129,
  },
  { name: 'Box, primary key', secret: 'SamplePrimaryKey', ...boxed },
  { name: 'Box, secondary key', secret: 'SampleSecondaryKey', ...boxed },
  {
    name: 'CircleCI',
    source: 'https://circleci.com/docs/outbound-webhooks/',
    scheme: senders.circleci(),
    secret: 'secret',
    headers: {
      'circleci-signature': 'v1=773ba44693c7553d6ee20f61ea5d2757a9a4f4a44d2841ae4e95b52e4cd62db4',
    },
    body: 'foo',
  },
  {
    name: 'Razorpay',
    source: 'razorpay-node 9737ef1, test/utils/razorpay-utils.spec.js',
    scheme: senders.razorpay(),
    secret: '123456',
    headers: {
      'x-razorpay-signature': '2fe04e22977002e6c7cb553adab8b460cb9e2a4970d5953cb27a8472752e3bbc',
    },
    body: '{"a":1,"b":2,"c":{"d":3}}',
  },
  {
    name: 'Mux',
    source: 'the tests of mux-node-sdk',
    scheme: senders.mux(),
    secret: 'SuperSecret123',
    headers: {
      'mux-signature':
        't=1565125718,v1=854ece4c22acef7c66b57d4e504153bc512595e8e9c772ece2a68150548c19a7',
    },
    body: '{"test":"body"}',
    at: 1565125718,
  },
  {
    name: 'Paddle, the second of two signatures',
    source: 'paddle-python-sdk 48c8cc0, tests/Unit/Notification/test_Verifier.py',
    scheme: senders.paddle(),
    secret: 'pdl_ntf_01hbpjmytsa32fhr36nqgc3kgb_WvRO0eL4Bj9rgYYIBZY6wZhG4EHy9jzh',
    headers: {
      'paddle-signature':
        'ts=1696195954;h1=dummy;h1=d96299976a6eb066f484d7fde011ac56fc32b38fc9940bc419d6e537fdc6ef02',
    },
    body: 'hello-world',
    at: 1696195954,
  },
  {
    name: 'Coinbase Commerce',
    source: 'coinbase-commerce-node d46c596, test/testWebhook.spec.js',
    scheme: senders.coinbaseCommerce(),
    secret: '30291a20-0bd1-4267-9b0f-e6e7b123c0bf',
    headers: {
      'x-cc-webhook-signature': '8be7742c7d372f08a6a3224edadf18a22b65fa9e28f3f2de97376cdaa092590d',
    },
    body: JSON.stringify(commerceEvent),
  },
]

const timeOf = ({ at }: Published) => new Date(typeof at === 'number' ? at * 1000 : (at ?? 0))

function outcomeOf(one: Published, body: string) {
  const { scheme, secret, headers, url } = one
  const key = secretFor(scheme, secret)
  const delivery = { body: new TextEncoder().encode(body), headers, ...(url && { url }) }
  return verify(delivery, { secret: key, scheme, now: () => timeOf(one) })
}

test.each(published)('$name is verified as published', async (one) => {
  expect(one.source).not.toBe('')
  expect(await outcomeOf(one, one.body)).toMatchObject({ ok: true })
  const other = await outcomeOf(one, `${one.body} `)
  expect(other).toMatchObject({ ok: false, code: 'SIGNATURE_MISMATCH' })
})

test('every preset that was tried on published signatures has one here', () => {
  const { jumio: _, smileId: __, ...signing } = vendors
  const tried = Object.values(signing)
    .map((make) => make())
    .filter(({ triedOn }) => triedOn === 'vectors')
  const verified = published.map(({ scheme }) => scheme.name)
  expect(tried.map(({ scheme }) => scheme.name).filter((name) => !verified.includes(name))).toEqual(
    [],
  )
})
