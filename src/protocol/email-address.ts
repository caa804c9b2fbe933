// E-mail addresses as RFC 5321 and, internationalized, RFC 6531 spell them. Lengths are the service's
// matter: section 8 bounds some addresses, and no other rule is documented than "format email".

/** Section 4.1.2 of RFC 5321: letters, digits and these marks; of other scripts every visible letter. */
const atom = String.raw`[^\p{C}\p{Z}()<>\[\]:;@\\,."]+`
const quoted = String.raw`"(?:[^\p{C}"\\]|\\[^\p{C}])*"`
const label = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]*[\p{L}\p{N}\p{M}])?`
const literal = String.raw`\[(?:\d{1,3}(?:\.\d{1,3}){3}|IPv6:[\da-fA-F:.]+)\]`

const address = new RegExp(
  `^(?:${atom}(?:\\.${atom})*|${quoted})@(?:${label}(?:\\.${label})*|${literal})$`,
  'u',
)

/** Characters, of which no address has as many; of some millions the expression overflows its stack. */
const most = 10_000

/** Whether a text is an e-mail address; `root@localhost` and `müller@bücher.example` are. */
export function isEmailAddress(text: string): boolean {
  return text.length <= most && address.test(text)
}
