// A door of the test kit to the one public secret.

export { testSecret } from '../signature/secrets.ts'
