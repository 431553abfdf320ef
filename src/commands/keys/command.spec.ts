import { parseArguments } from './command.js';

it.each([
  ['list', { name: 'list', json: false }],
  ['list --json', { name: 'list', json: true }],
  ['rotate', { name: 'rotate' }],
  ['revoke k', { name: 'revoke', kid: 'k' }],
  ['reencrypt', { name: 'reencrypt' }],
  ['--help', 'help'],
])('%s', (line, command) => {
  expect(parseArguments(line.split(' '))).toEqual(command);
});

it.each([
  '',
  'nonsense',
  'revoke',
  'revoke a b',
  'rotate now',
  'rotate --json',
  'list --all',
  'list k',
  '--json',
  'toString',
])('%j is wrong usage', (line) => {
  expect(parseArguments(line.split(' ').filter(Boolean))).toBeUndefined();
});
