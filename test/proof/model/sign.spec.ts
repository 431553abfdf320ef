import { AT_THE_END, REFUSED, SERVED, shows } from './sign.js';
import { expectRefusal } from './step.js';
import type { Answer } from './world.js';

const errorOf = (compare: () => void): unknown => {
  try {
    compare();
  } catch (error) {
    return error;
  }
  throw new Error('there is no difference');
};
const answer = (status: number, body: Answer['body']): Answer => ({ status, body, headers: {} });
const refusalWas = (came: Answer): unknown => errorOf(() => expectRefusal(came, 'invalid_grant'));
const successWas = (status: number): unknown => errorOf(() => expect(status).toBe(200));

const CRASH = answer(500, { error: 'server_error', error_description: 'an unexpected error' });
const OTHER = answer(404, { error: 'not_found', error_description: 'unknown' });
const served = { ...SERVED, at: ['exchange'] };
const refused = { ...REFUSED, at: ['refresh', AT_THE_END] };

it.each<[string, boolean, () => boolean]>([
  [
    'a token where a refusal was due',
    true,
    () => shows(served, 'exchange', refusalWas(answer(200, { access_token: 'x' }))),
  ],
  [
    'an empty answer where a refusal was due',
    true,
    () => shows(served, 'exchange', refusalWas(answer(204, {}))),
  ],
  ['the same at another command', false, () => shows(served, 'signIn', refusalWas(answer(204, {})))],
  ['a crash where a refusal was due', false, () => shows(served, 'exchange', refusalWas(CRASH))],
  ['another refusal', false, () => shows(served, 'exchange', refusalWas(OTHER))],
  ['a broken connection', false, () => shows(served, 'exchange', new Error('read ECONNRESET'))],
  [
    'an error with the same words',
    false,
    () => shows(served, 'exchange', new Error('-   "error": undefined')),
  ],
  ['a refusal', true, () => shows(refused, 'refresh', successWas(401))],
  ['a refusal at the end', true, () => shows(refused, AT_THE_END, successWas(401))],
  ['a crash where success was due', false, () => shows(refused, 'refresh', successWas(500))],
  [
    'a difference elsewhere',
    false,
    () =>
      shows(
        refused,
        'refresh',
        errorOf(() => expect({ expires_in: 1 }).toEqual({ expires_in: 2 })),
      ),
  ],
])('%s: %s', (_name, isFound, look) => {
  expect(look()).toBe(isFound);
});
