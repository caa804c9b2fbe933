// Keys of JSON objects that say nothing about a person: the fields of the documents, and names made
// of the words that senders make names of fields from. A document number or a name is not among them.
import { defaultEnvelope } from '../protocol/envelope.ts'
import {
  assembledVerificationSchema,
  clientSchema,
  errorBodySchema,
  paginationSchema,
  thirdPartySchema,
} from '../protocol/resources.ts'

const schemas = [
  assembledVerificationSchema,
  clientSchema,
  thirdPartySchema,
  paginationSchema,
  errorBodySchema,
]
const documented: ReadonlySet<string> = new Set([
  ...schemas.flatMap(({ shape }) => Object.keys(shape)),
  ...Object.values(defaultEnvelope).flat(),
])

/** Words of the envelopes and records of senders; none of them is a usual given name. */
const words: ReadonlySet<string> = new Set(
  `acceptance access account accounts action actions active actor address addresses age alias amount
  answer answers api app applicant application approved array assessment at attempt attempts
  attestation attributes audit auth authority auto bank batch biometric biometrics birth
  birthdate birthday blocked body born brand browser bucket business by callback canceled
  cancelled category challenge change changes channel check checks child children citizenship
  city claims client code codes comment comments company completed confidence config consent
  contact contacts content context correlation count country county created creation currency
  current custom customer data datacontenttype dataschema date datetime day days decided decision
  declined default delivery description destination details detected device district dob doc
  document documents domain driver driving duration element elements email emails employer
  employment enabled encoding end ended entity entries entry environment error errors estate
  event events evidence execution expiration expired expires expiry external extra face failed
  failure family feature fields file files final financial findings finish finished first flag
  flags flow forename format fraud from front full gender geo given group groups hash header
  headers height hio history hit hits hook href html i id identifier identities identity ids idv
  image images in index individual info inquiry inspection institution ip is iso iso8601 issue
  issued issuer issues issuing item items json key keys kind kyc label labels language last lat
  latitude legal level levels license limit line link links list lists livemode liveness lng
  local locale location log login lon longitude maiden mailing match matched matches matter media
  member members message messages meta metadata method middle mime mobile mode model month mrz ms
  name names national nationality new next no node note notes notification number object occurred
  of office old on option options order org organisation organization origin original outcome
  overall owner owners page parameters parent parties party passed passport path payload payment
  pending people pep percent period person personal persons phone phones photo picture place
  platform portrait position postal postcode prefix previous primary prior private probability
  process processed product profile progress properties property provider province public
  question questions reason reasons received record records ref reference region registered
  registration reject rejected related relation relationship reply report reports request
  requested requestor required requirement requirements residence residential resource resources
  response result results retry review reviewed reviewer risk role roles route sandbox scan
  schema scope score scores screening search second secondary section selfie sender sent sequence
  series server service session severity sex share shared side signature signed similarity size
  source specversion ssn stage start started state status step steps street subject submission
  submitted subscription success suffix suggestion summary surname tag tags target tax team
  technical tel telephone template tenant test text third threshold time times timestamp timezone
  title to token topic total trace transaction ts type types unit unix update updated uri url
  user username users utc uuid valid validation value values vendor verdict verification
  verifications verified verify version via video visa warning warnings watchlist webhook website
  weight with workflow year zip zone`.split(/\s+/),
)

/** Where one word of a name ends: at a mark, or where the case changes. */
const between = /[_\-.]+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[a-z])(?=\d$)/

/** Whether a key is known to say nothing about a person. */
export function isKnownKey(key: string): boolean {
  if (documented.has(key)) return true
  if (key.length > 60) return false
  const parts = key.toLowerCase() === key.toUpperCase() ? [] : key.split(between)
  const named = parts.filter((part) => part !== '')
  const areKnown = named.every((part) => words.has(part.toLowerCase()) || /^\d$/.test(part))
  // One after the other they are a number.
  const isNumber = named.some((part, at) => /^\d$/.test(part) && /^\d$/.test(named[at + 1] ?? ''))
  return named.length > 0 && areKnown && !isNumber
}
