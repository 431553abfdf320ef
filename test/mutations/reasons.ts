/**
 * Why a mutant that survives may, by its key (`npm run test:mutations -- --list`). `equivalent: …` where no input can tell it from
 * the code; any other reason is one for which nobody wrote a test.
 */
export const REASONS: Readonly<Record<string, string>> = {
  '05332a934c0b': 'equivalent: no header, or one of no scheme that is known, is the same to the code',
  ef4bf5009cda: 'equivalent: no header, or one of no scheme that is known, is the same to the code',
  // src/auth
  '3a927cc611d1': 'equivalent: no verifier matches a challenge that is not there',
  '0075cdc4dd5a': 'equivalent: the null of JSON is read as null',
  ee7b8a946907: 'equivalent: the null of JSON is read as null',
  '452504d05c25': 'equivalent: a function without return gives undefined',
  '83571abc8cae': 'equivalent: what is no object has no such members',
  '733187d95183': 'equivalent: what is no object has no such members',
  ddd85b45ee31: 'equivalent: what is no object has no such members',
  '699e6788cf2d': 'equivalent: null has no members',
  da14407e4698: 'equivalent: no header, or one of no scheme that is known, is the same to the code',
  '76519f87cf36': 'equivalent: no challenge has not 43 characters',
  '0efba21a6ef8': 'equivalent: a cause that is undefined is none',
  '17bab93410e2': 'equivalent: the protocol of a URL has one colon, at its end',
  '4d9b465e4335':
    'equivalent: one alone is refused alike after it was looked for; it costs a statement alone',
  '9cc3a0a8a8d0':
    'equivalent: one alone is refused alike after it was looked for; it costs a statement alone',
  da024257ed34: 'equivalent: nobody is left to whom it would be given',
  e19433e97062: 'a statement of no rows; it costs time alone',
  '15150681b37f': 'a statement of no rows; it costs time alone',
  b909d34a8eb2: 'needs sign-ins of a user that wait for each other in an order of which no test can be sure',
  // src/provider/adapters
  '2011c59be864': 'equivalent: text that is split has a first part',
  '4a542b7a4714': 'equivalent: no type, or one of no name that is known, is the same to the code',
  '9e19e65a0f55': 'equivalent: no algorithm is none that has the name of a MAC',
  '31b9c9ba112d': 'equivalent: text that is split has a first part',
  '8f3f6596cb3c': 'equivalent: a function without return gives undefined',
  '4dfdcade49f2': 'equivalent: a function without return gives undefined',
  '6b29483dd513': 'equivalent: axios takes no method for GET',
  c46468660a28: 'equivalent: axios takes no method for GET',
  '3ace29f292d1':
    'equivalent: whatever is not client_secret_basic is client_secret_post to clientAuthentication()',
  '190adbdf9849':
    'equivalent: whatever is not client_secret_basic is client_secret_post to clientAuthentication()',
  a18b594912f8: 'equivalent: the server is not looked at where a secret is sent',
  c22f787851f6: 'equivalent: the server is not looked at where a secret is sent',
  '1b785defc06b': 'equivalent: a list of no method that is known is the same to the code',
  a9c78aab0c82: 'equivalent: openid-client gives a signal of its own with each request',
  '9b71ce024bdd':
    'equivalent: openid-client looks for types that it knows; no type and one that it does not know are the same',
  '5405a2f2b7d2': 'equivalent: nothing is as false as false',
  '31346a32bcb9': 'equivalent: there are claims where there is an ID token, and nowhere else',
  // src/auth, src/token
  '217051bcb8db': 'equivalent: colons are counted, and it has none',
  '2ae23bd8c213': 'equivalent: a function without return gives undefined',
  // src/provider/logout
  ee9995e73ebb: 'equivalent: a session comes before a subject, which is one order for all as well',
  '94210e4460b1': 'equivalent: jose verifies nothing that is called otherwise',
  dda23b1cf439: 'equivalent: jose verifies nothing that is called otherwise',
  '62cf5a7a2c68': 'equivalent: the same keys say the same of the same token',
  // src/provider
  '6fb37d78b7eb': 'equivalent: of those that axios tries by itself only this one is of Node.js',
  a357575698b8: 'equivalent: nothing that changes it is the same as something that changes nothing',
  '5f37a4a8d653': 'equivalent: every request has a method',
  '37e3b8d073fd': 'equivalent: every request has an AbortSignal',
  '8f6127fbee72': 'equivalent: every request has an AbortSignal',
  ccd67464ec25: 'equivalent: every request has an AbortSignal',
  '1174891f8c1c': 'equivalent: every request has an AbortSignal',
  c95637192774: 'equivalent: one piece is the same when it was copied',
  '70411da2d09b': 'equivalent: nobody reads the text of a status',
  dd480511c07c: 'equivalent: the first of the types is text, or there is none',
  d83b9d5b37b8: 'equivalent: what is that long has too many characters as well; it costs time alone',
  '46fe50095d85': 'equivalent: of what is cut off nothing would be shown; it costs time alone',
  '94603531641d': 'equivalent: text that is split has a first part',
  '450539d5a485': 'equivalent: each option that is asked for has a default',
  '4ffcb5506aaf': 'equivalent: a path without a dot has no holder, whatever its name is',
  '522762e4f69f': 'equivalent: a template that lacks a value is not used',
  '5f08bf4589ad': 'equivalent: nothing unpacked is nothing, and no encoding is one that is not known',
  '374870501270': 'equivalent: nothing unpacked is nothing, and no encoding is one that is not known',
  '9a2dff17f704': 'equivalent: no encoding is one that is not known',
  '3fe0b43c5ecb': 'equivalent: nothing unpacked is nothing',
  '55d977d8b433': 'equivalent: what is compared with begins so, and has it nowhere else',
  '2c32eb9ba0a0': 'how deep it looks exactly matters to nobody',
  '67e45758cae2': 'how deep it looks exactly matters to nobody',
  ace57254b4b0: 'a test would have to wait for seconds',
  c1f4c59b40f2: 'a test would have to wait for seconds',
  '4c8b3a3afd35':
    'equivalent: in a URL only a longer host goes on otherwise, and of that nothing is taken out',
  // src/provider/adapter-test
  d52305a70eb9: 'equivalent: a request that a server was sent has a method',
  '2b2dd3cc682c': 'equivalent: a request that a server was sent has an address',
  '40a54bc13c63': 'equivalent: a message that is not there holds no secret, whatever stands in for it',
};
