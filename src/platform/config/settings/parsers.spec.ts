import express from 'express';
import { host, InvalidValue, trustProxy } from './parsers.js';

it.each([
  ['true', true],
  ['false', false],
  ['0', 0],
  ['2', 2],
  ['loopback', 'loopback'],
  ['loopback, 10.0.0.0/8', 'loopback,10.0.0.0/8'],
  ['64:ff9b::192.0.2.1, ::ffff:192.0.2.0/120', '64:ff9b::c000:201,::ffff:c000:200/120'],
  ['192.0.2.7,2001:db8::/32,::1,uniquelocal,linklocal', '192.0.2.7,2001:db8::/32,::1,uniquelocal,linklocal'],
])('reads %s, which Express takes', (text, value) => {
  expect(trustProxy.parse(text)).toBe(value);
  expect(() => express().set('trust proxy', value)).not.toThrow();
});

it.each(['yes', '-1', 'localhost', '10.0.0.0/0', '10.0.0.0/33', '10.0.0', 'loopback,', 'fe80::1%eth0'])(
  'refuses %s',
  (text) => expect(() => trustProxy.parse(text)).toThrow(InvalidValue),
);

describe('a host to listen on', () => {
  it.each(['127.0.0.1', '::', '::1', 'fe80::1', 'localhost', 'db-1.internal.', '0.0.0.0'])('is %s', (text) =>
    expect(host.parse(text)).toBe(text),
  );
  it.each(['999.999.999.999', '4294967296', 'fe80::1%eth0', '[::1]', 'a b', ''])('is not %s', (text) =>
    expect(() => host.parse(text)).toThrow(InvalidValue),
  );
});
