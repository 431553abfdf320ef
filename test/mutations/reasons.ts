/**
 * Why a mutant that survives may, by its key (`npm run test:mutations -- --list`). `equivalent: …` where no input can tell it from
 * the code; any other reason is one for which nobody wrote a test.
 */
export const REASONS: Readonly<Record<string, string>> = {
  '05332a934c0b': 'equivalent: no header, or one of no scheme that is known, is the same to the code',
  ef4bf5009cda: 'equivalent: no header, or one of no scheme that is known, is the same to the code',
};
