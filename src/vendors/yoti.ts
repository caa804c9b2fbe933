// Yoti: nothing is signed. A token that you choose for a session comes with its notifications, so a
// receiver has to ask for `authenticity: 'token'` by name.
import { checkChoice, checkOptionNames } from '../foundation/check.ts'
import { schemes } from '../protocol/scheme.ts'
import { defineVendor, type Vendor } from '../protocol/vendor.ts'

/**
 * Yoti. Read from its public documents and tried on deliveries made from them, not on real ones.
 * `auth` is the auth_type of your notifications; the secret of Basic is `btoa('user:password')`.
 * A notification tells that something happened, not what: the handler asks the API.
 */
export function yoti(options: { readonly auth?: 'Basic' | 'Bearer' } = {}): Vendor {
  checkOptionNames('vendors.yoti', options, ['auth'])
  checkChoice('auth', options.auth, ['Basic', 'Bearer'])
  return defineVendor({
    name: 'yoti',
    title: 'Yoti',
    documents: [
      {
        url: 'https://developers.yoti.com/identity-verification/notifications',
        read: '2026-11-28',
      },
    ],
    triedOn: 'documents',
    scheme: schemes.token({ header: 'Authorization', prefix: `${options.auth ?? 'Basic'} ` }),
    reading: { name: ['topic'], subject: ['session_id'], rules: [] },
    finality: { final: [], reversible: [] },
    delivery: {
      note: 'session_completion tells that a result is there: read it with GET /sessions/{id}',
    },
    fixtures: [{ body: about('session_completion') }, { body: about('check_completion') }],
  })
}

const about = (topic: string) => ({ session_id: 'a1b2c3d4-0000-4000-8000-1234567890ab', topic })
