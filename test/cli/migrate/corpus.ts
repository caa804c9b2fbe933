// Snippets as people write them, and what must become of each. `kinds` are what is reported.

/** A snippet; without `output` nothing in it may change. */
export interface Snippet {
  readonly name: string
  readonly input: string
  readonly output?: string
  readonly kinds?: readonly string[]
  readonly file?: string
}

const same = (name: string, input: string, kinds: readonly string[] = []): Snippet => ({
  name,
  input,
  kinds,
})
const becomes = (name: string, input: string, output: string, file?: string): Snippet => ({
  name,
  input,
  output,
  ...(file && { file }),
})

const literals: readonly Snippet[] = [
  becomes('single quotes', `on('request.approved')`, `on('verification.approved')`),
  becomes('double quotes', `on("request.rejected")`, `on("verification.rejected")`),
  becomes('a template without holes', 'on(`request.created`)', 'on(`verification.created`)'),
  becomes('the family', `receiver.on('request.*', f)`, `receiver.on('verification.*', f)`),
  becomes(
    'every step',
    `x=['request.created','request.submitted','request.approved','request.rejected','request.canceled','request.expired']`,
    `x=['verification.created','verification.submitted','verification.approved','verification.rejected','verification.canceled','verification.expired']`,
  ),
  becomes(
    'an object key',
    `const h = { 'request.approved': f }`,
    `const h = { 'verification.approved': f }`,
  ),
  becomes(
    'a computed key',
    `const h = { ['request.approved']: f }`,
    `const h = { ['verification.approved']: f }`,
  ),
  becomes(
    'a method',
    `const h = { 'request.approved'(event) {} }`,
    `const h = { 'verification.approved'(event) {} }`,
  ),
  becomes(
    'a class member',
    `class A { 'request.approved' = 1 }`,
    `class A { 'verification.approved' = 1 }`,
  ),
  becomes(
    'member access',
    `handlers['request.approved'](e)`,
    `handlers['verification.approved'](e)`,
  ),
  becomes(
    'optional access',
    `handlers?.["request.approved"]?.(e)`,
    `handlers?.["verification.approved"]?.(e)`,
  ),
  becomes(
    'a case label',
    `switch (n) { case 'request.expired': f() }`,
    `switch (n) { case 'verification.expired': f() }`,
  ),
  becomes(
    'a comparison',
    `if (e.name === 'request.approved') f()`,
    `if (e.name === 'verification.approved') f()`,
  ),
  becomes(
    'a default value',
    `function f(n = 'request.created') {}`,
    `function f(n = 'verification.created') {}`,
  ),
  becomes(
    'a conditional',
    `const n = x ? 'request.approved' : 'request.rejected'`,
    `const n = x ? 'verification.approved' : 'verification.rejected'`,
  ),
  becomes(
    'a nested object',
    `const o = { a: { b: ['request.approved'] } }`,
    `const o = { a: { b: ['verification.approved'] } }`,
  ),
  becomes(
    'an argument that is a list',
    `r.on(['request.approved', 'client.created'], f)`,
    `r.on(['verification.approved', 'client.created'], f)`,
  ),
  becomes(
    'a destructured key',
    `const { 'request.approved': f } = handlers`,
    `const { 'verification.approved': f } = handlers`,
  ),
  becomes(
    'includes',
    `names.includes('request.approved')`,
    `names.includes('verification.approved')`,
  ),
  becomes(
    'a hole of a template',
    "x = `got ${ 'request.approved' }`",
    "x = `got ${ 'verification.approved' }`",
  ),
  becomes('a spread list', `f(...['request.approved'])`, `f(...['verification.approved'])`),
  becomes('an escape in the name', `on('request\\u002eapproved')`, `on('verification.approved')`),
  becomes(
    'a decorator',
    `class A { @On('request.approved') f() {} }`,
    `class A { @On('verification.approved') f() {} }`,
  ),
  becomes(
    'JSX',
    `<Filter event="request.approved" on={'request.expired'}/>`,
    `<Filter event="verification.approved" on={'verification.expired'}/>`,
    'a.jsx',
  ),
  becomes(
    'a join of names',
    `['request.approved', x].join(',')`,
    `['verification.approved', x].join(',')`,
  ),
  becomes(
    'concat of a list',
    `[].concat('request.approved')`,
    `[].concat('verification.approved')`,
  ),
  becomes(
    'a promise that resolves',
    `Promise.resolve('request.approved')`,
    `Promise.resolve('verification.approved')`,
  ),
  becomes(
    'a mock of a sender',
    `sender.mock('request.approved')`,
    `sender.mock('verification.approved')`,
  ),
  becomes(
    'a type of Flow',
    `// @flow\ntype N = 'request.approved' | 'client.created'`,
    `// @flow\ntype N = 'verification.approved' | 'client.created'`,
    'a.js',
  ),
  becomes('new Set', `new Set(['request.approved'])`, `new Set(['verification.approved'])`),
  becomes(
    'await and top level',
    `await send('request.approved')`,
    `await send('verification.approved')`,
  ),
  becomes(
    'a return at top level',
    `return 'request.approved'`,
    `return 'verification.approved'`,
    'a.cjs',
  ),
  becomes(
    'a hashbang',
    `#!/usr/bin/env node\non('request.approved')`,
    `#!/usr/bin/env node\non('verification.approved')`,
  ),
  becomes(
    'Flow',
    `// @flow\nconst a: ?string = 'request.approved'`,
    `// @flow\nconst a: ?string = 'verification.approved'`,
    'a.js',
  ),
]

const types: readonly Snippet[] = [
  becomes(
    'a union',
    `type N = 'request.approved' | 'client.created'`,
    `type N = 'verification.approved' | 'client.created'`,
    'a.ts',
  ),
  becomes(
    'an interface',
    `interface M { 'request.approved': A }`,
    `interface M { 'verification.approved': A }`,
    'a.ts',
  ),
  becomes(
    'an indexed type',
    `type A = M['request.approved']`,
    `type A = M['verification.approved']`,
    'a.ts',
  ),
  becomes('a type argument', `on<'request.approved'>(f)`, `on<'verification.approved'>(f)`, 'a.ts'),
  becomes(
    'an enum',
    `enum E { A = 'request.approved' }`,
    `enum E { A = 'verification.approved' }`,
    'a.ts',
  ),
  becomes(
    'satisfies',
    `const n = 'request.approved' satisfies N`,
    `const n = 'verification.approved' satisfies N`,
    'a.ts',
  ),
  becomes(
    'an assertion of old',
    `const n = <N>'request.approved'`,
    `const n = <N>'verification.approved'`,
    'a.ts',
  ),
  becomes(
    'as const',
    `const n = ['request.approved'] as const`,
    `const n = ['verification.approved'] as const`,
    'a.mts',
  ),
  becomes(
    'a declaration',
    `declare function on(n: 'request.approved'): void`,
    `declare function on(n: 'verification.approved'): void`,
    'a.d.ts',
  ),
  becomes(
    'a parameter decorator',
    `class A { f(@On('request.approved') x: B) {} }`,
    `class A { f(@On('verification.approved') x: B) {} }`,
    'a.ts',
  ),
  becomes(
    'TSX generics',
    `const f = <T,>(x: T) => <A on="request.approved" />`,
    `const f = <T,>(x: T) => <A on="verification.approved" />`,
    'a.tsx',
  ),
  becomes(
    'a template type without holes',
    'type N = `request.approved`',
    'type N = `verification.approved`',
    'a.ts',
  ),
]

const untouched: readonly Snippet[] = [
  same('the current name', `on('verification.approved')`),
  same('another word', `on('request.approve')`),
  same('another case', `on('Request.Approved')`),
  same('a property of a request', `req.request.approved`),
  same('a request object', `const request = { approved: 1 }; request.approved`),
  same('a comment', `// request.approved\n/* 'request.approved' */\nf('client.created')`),
  same('a longer name', `on('my.request.approved')`),
  same('a name with a suffix', `on('request.approved-at')`),
  same('requests of node:http', `server.on('request', app)\nf(n.split('.'))`),
  same('an object of something else', `x = { request: { body: 1 } }`),
  same('a kind of something else', `if (log.kind === 'request') f()`),
  same('other steps', 'f(`${a}.approvedBy`, a + "created")'),
  same('a directive', `'request.approved'\nf()`),
  same('a log of a request', 'log(`request.body is ${request.body}`)'),
  same('both names in a pattern', '/^(request|verification)\\.approved$/.test(n)'),
  same('any name in a pattern', '/^[a-z]+\\.approved$/.test(n)'),
  same('a sentence', `throw new Error('There is no such request.')`),
  same('a sentence that goes on', 'throw new Error(`Cannot read the request.${hint}`)'),
  becomes(
    'a name that is declared twice',
    `declare class A {}\ndeclare var A: 'request.approved'\nconst A = 1`,
    `declare class A {}\ndeclare var A: 'verification.approved'\nconst A = 1`,
    'a.d.ts',
  ),
  same('a URL', `fetch('https://example.com/request.html')`),
  same('an ignored line', `on('request.approved') // idv-webhooks-ignore`),
  same('the line after', `// idv-webhooks-ignore: on purpose\non('request.approved')`),
  same(
    'an ignored file',
    `/* idv-webhooks-ignore-file */\non('request.approved')\non('request.expired')`,
  ),
]

/** Names inside longer texts are listed; what is built at run time is not found. */
const inside: readonly Snippet[] = [
  same('a name in SQL', `sql("select 1 where name = 'request.approved'")`, ['mention']),
  same('a list in a string', `process.env.EVENTS ?? 'request.approved,client.created'`, [
    'mention',
  ]),
  same('a tagged template', 'sql`request.approved`', ['mention']),
  same('a tagged template with a hole', "sql`select ${a} from b where n = 'request.approved'`", [
    'mention',
  ]),
  same('JSX text', `<p>Sent for request.approved only</p>`, ['mention']),
  same('a template with a hole', 'on(`request.${step}`)'),
]

const collisions: readonly Snippet[] = [
  same('two handlers', `r.on('request.approved', f)\nr.on('verification.approved', g)`, ['both']),
  same(
    'two handlers, one in a list',
    `r.on(['request.approved'], f)\nr.on('verification.approved', g)`,
    ['both'],
  ),
  same('two keys', `x = { 'request.approved': f, 'verification.approved': g }`, ['both']),
  same('two cases', `switch (n) { case 'request.approved': case 'verification.approved': f() }`, [
    'both',
  ]),
  same('two assignments', `h['request.approved'] = f\nh['verification.approved'] = g`, ['both']),
  same('two comparisons', `if (n === 'request.approved' || n === 'verification.approved') f()`, [
    'both',
  ]),
  same('one list', `r.on(['request.approved', 'verification.approved'], f)`, ['both']),
  same('one union', `type N = 'request.approved' | 'verification.approved'`, ['both']),
  {
    name: 'one name collides, the others move',
    input: `r.on('request.approved', f)\nr.on('verification.approved', g)\nr.on('request.expired', h)`,
    output: `r.on('request.approved', f)\nr.on('verification.approved', g)\nr.on('verification.expired', h)`,
    kinds: ['both'],
  },
  ...[
    ['a Map', `new Map([['request.approved', f], ['verification.approved', g]])`],
    ['two entries that are set', `m.set('request.approved', f)\nm.set('verification.approved', g)`],
    [
      'two decorators',
      `class A { @On('request.approved') f() {}\n@On('verification.approved') g() {} }`,
    ],
    [
      'two callees that nobody knows',
      `wire('request.approved', f)\nwire('verification.approved', g)`,
    ],
    ['aliases', `const A = 'request.approved'\nconst B = 'verification.approved'`],
    ['a table and a call', `x = { 'request.approved': f }\nr.on('verification.approved', g)`],
    [
      'two objects, that may be spread into one',
      `a = { 'request.approved': f }\nb = { 'verification.approved': g }`,
    ],
    ['a table of old to new', `x = { 'request.approved': 'verification.approved' }`],
    ['JSX', `<A on="request.approved"><A on="verification.approved" /></A>`],
    ['a pattern of both', `const { 'request.approved': f, 'verification.approved': g } = h`],
  ].map(([name = '', input = '']) => same(name, input, ['both'])),
  {
    name: 'members of an enum',
    input: `enum E { A = 'request.approved', B = 'verification.approved' }`,
    kinds: ['both'],
    file: 'a.ts',
  },
  same(
    'a case and a registration',
    `r.on('verification.approved', f)\nswitch (n) { case 'request.approved': g() }`,
    ['both'],
  ),
]

/** Old names that are meant as such: beside what tells or translates the name that arrived. */
const meant: readonly Snippet[] = [
  same('a comparison', `if (event.receivedName === 'request.approved') count()`, ['received']),
  same('a comparison the other way round', `'request.*' !== e?.receivedName`, ['received']),
  same('a switch', `switch (e.receivedName) { case 'request.expired': f() }`, ['received']),
  same('a translation', `canonicalName('request.approved')`, ['received']),
  same('a look-up', `legacyNames.includes('request.approved')`, ['received']),
  same('a list', `['request.approved'].includes(event.receivedName)`, ['received']),
  same('an assertion', `expect(event.receivedName).toBe('request.approved')`, ['received']),
  same('an assertion of node', `assert.equal(e.receivedName, 'request.approved')`, ['received']),
  same('a shape', `expect(e).toMatchObject({ receivedName: 'request.approved' })`, ['received']),
  same('a type', `type E = { receivedName: 'request.approved' | 'request.expired' }`, [
    'received',
    'received',
  ]),
  same('a variable', `const receivedName = 'request.approved'`, ['received']),
  becomes(
    'a handler that reads it',
    `on('request.approved', (e) => log(e.receivedName))`,
    `on('verification.approved', (e) => log(e.receivedName))`,
  ),
  becomes(
    'the other fields of a shape',
    `expect(e).toEqual({ name: 'request.approved', receivedName: name })`,
    `expect(e).toEqual({ name: 'verification.approved', receivedName: name })`,
  ),
  {
    name: 'the other half of a condition',
    input: `e.receivedName === 'request.approved' || e.name === 'request.approved'`,
    output: `e.receivedName === 'request.approved' || e.name === 'verification.approved'`,
    kinds: ['received'],
  },
  {
    name: 'no collision with what is meant',
    input: `expect(e.name).toBe('verification.approved')\nexpect(e.receivedName).toBe('request.approved')`,
    kinds: ['received'],
  },
]

export const corpus: readonly Snippet[] = [
  ...literals,
  ...types,
  ...untouched,
  ...inside,
  ...collisions,
  ...meant,
]
