import type { IncomingMessage } from 'node:http';
import { isIPv6 } from 'node:net';
import express from 'express';
import {
  clientAddress,
  soughtAddress,
  storedAddress,
  STORED_ADDRESSES,
  networkOf,
  widerNetworkOf,
} from './network.js';

describe('clientAddress', () => {
  const headers = { 'x-forwarded-for': '192.0.2.1, 192.0.2.2' };
  const message = { headers, socket: { remoteAddress: '127.0.0.1' } } as unknown as IncomingMessage;

  it.each([
    [false, '127.0.0.1'],
    [1, '192.0.2.2'],
    [true, '192.0.2.1'],
    ['loopback', '192.0.2.2'],
    ['10.0.0.0/8', '127.0.0.1'],
  ])('with trust proxy %j: %s', (trustProxy, address) => {
    expect(clientAddress(message, express().set('trust proxy', trustProxy))).toBe(address);
  });
});

describe('networkOf', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:51234', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:443', '192.0.2.1'],
    ['::192.0.2.1', '192.0.2.1'],
    ['2001:0DB8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['[2001:db8::1]:443', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2:3:4:192.0.2.1', '2001:db8:1:2::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['fe80::1%en-0.1', 'fe80:0:0:0::/64'],
    ['::ffff:192.0.2.1%1', '192.0.2.1'],
    [undefined, 'unknown'],
    ['192.0.2.1\r\nforged', 'unknown'],
    ['192.0.2.999', 'unknown'],
    ['192.0.513', 'unknown'],
    ['192.0.2.01', 'unknown'],
    ['3221225985', 'unknown'],
    ['fe80::1%', 'unknown'],
    ['2001:db8::1::2', 'unknown'],
  ])('%s: %s', (address, network) => expect(networkOf(address)).toBe(network));

  it('knows the network of each text that Node.js accepts as an IPv6 address', () => {
    const groups = (count: number) => Array<string>(count).fill('a');
    const lefts = Array.from({ length: 8 }, (_, count) => groups(count).join(':'));
    const rights = lefts.flatMap((right) => [right, right === '' ? '1.2.3.4' : `${right}:1.2.3.4`]);
    const forms = lefts.flatMap((left) => rights.map((right) => `${left}::${right}`)).filter(isIPv6);
    expect(forms.length).toBeGreaterThan(50);
    for (const form of forms) expect([form, networkOf(form)]).not.toContain('unknown');
  });
});

it.each([
  ['192.0.2.1', '192.0.0.0/16'],
  ['2001:db8:1:2::/64', '2001:db8::/32'],
  ['unknown', 'unknown'],
])('the wider network of %s: %s', (network, wider) => expect(widerNetworkOf(network)).toBe(wider));

describe('the address that is kept (AUDIT_ADDRESSES)', () => {
  it.each([
    ['full', '::ffff:192.0.2.77', '192.0.2.77'],
    ['full', '[2001:db8:1:2::9%eth0]:443', '2001:db8:1:2::9'],
    ['full', 'forged', null],
    ['network', '192.0.2.77', '192.0.2.0/24'],
    ['network', '2001:db8:1:2::9', '2001:db8:1::/48'],
    ['network', undefined, null],
    ['off', '192.0.2.77', null],
  ])('%s: %s is kept as %s', (setting, ip, stored) => {
    const app = express().set(STORED_ADDRESSES, setting);
    expect(storedAddress({ ip, app })).toBe(stored);
  });
});

describe('the address that is looked for', () => {
  it.each([
    ['full', '192.0.2.77', '192.0.2.77'],
    ['off', '::ffff:192.0.2.77', '192.0.2.77'],
    ['full', '2001:DB8:0:0:0:0:0:9', '2001:db8::9'],
    ['network', '192.0.2.77', '192.0.2.0/24'],
    ['network', '2001:db8:1:2::9', '2001:db8:1::/48'],
    ['network', '192.0.2.0/24', '192.0.2.0/24'],
    ['full', '192.0.2.0/24', '192.0.2.0/24'],
    ['full', '2001:db8::/48', '2001:db8:0::/48'],
    ['full', '2001:db8:0::/48', '2001:db8:0::/48'],
    ['full', '192.0.2.0/48', undefined],
    ['full', '2001:db8::/24', undefined],
    ['full', '10.0.0.0/8', undefined],
    ['network', 'localhost', undefined],
    ['network', '', undefined],
  ] as const)('%s: %s is looked for as %s', (setting, text, sought) => {
    expect(soughtAddress(text, setting)).toBe(sought);
  });
});
