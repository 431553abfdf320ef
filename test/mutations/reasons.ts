/**
 * Why a mutant that survives may, by its key (`npm run test:mutations -- --list`). `equivalent: …` where no input can tell it from
 * the code; any other reason is one for which nobody wrote a test.
 */
export const REASONS: Readonly<Record<string, string>> = {
  '05332a934c0b': 'equivalent: no header, or one of no scheme that is known, is the same to the code',
  ef4bf5009cda: 'equivalent: no header, or one of no scheme that is known, is the same to the code',
  // src/provider/adapter-test
  d52305a70eb9: 'equivalent: a request that a server was sent has a method',
  '2b2dd3cc682c': 'equivalent: a request that a server was sent has an address',
  '40a54bc13c63': 'equivalent: a message that is not there holds no secret, whatever stands in for it',
};
