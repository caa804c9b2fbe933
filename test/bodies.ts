// Bodies that do not survive parsing and writing again; each names a verification `ver_1`.

const utf8 = (text: string) => new TextEncoder().encode(text)
const data = '"data":{"id":"ver_1"}'

export const exactBodies: readonly (readonly [name: string, body: Uint8Array])[] = [
  ['a byte order mark', utf8(`\uFEFF{"event":"verification.approved",${data}}`)],
  ['odd white space', utf8(`\r\n{ "event" :\t"verification.approved" , ${data} }\n\n`)],
  ['an escaped letter', utf8(`{"event":"verification.approved","note":"caf\\u00e9",${data}}`)],
  ['a plain letter', utf8(`{"event":"verification.approved","note":"café",${data}}`)],
  ['duplicate keys', utf8(`{"event":"x.y","event":"verification.approved",${data}}`)],
  ['the number 1.0', utf8(`{"event":"verification.approved","n":1.0,"m":1e3,${data}}`)],
  ['a 20-digit number', utf8(`{"event":"verification.approved","n":12345678901234567890,${data}}`)],
  ['replacement patterns', utf8(`{"event":"verification.approved","n":"$& $$ $1 $\`",${data}}`)],
  ['an escaped slash', utf8(`{"event":"verification.approved","n":"a\\/b",${data}}`)],
  ['keys like integers', utf8(`{"event":"verification.approved","10":1,"9":2,${data}}`)],
]

/** Bytes that no text decoder round-trips: signed correctly they are refused as no UTF-8. */
export const notUtf8 = Uint8Array.from([...utf8('{"event":"'), 0xff, 0xfe, ...utf8('"}')])
