import { serve } from './receiver.mjs'

export default { fetch: serve }
