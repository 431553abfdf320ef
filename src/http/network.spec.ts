import { isIPv6 } from 'node:net';
import { networkOf, widerNetworkOf } from './network.js';

describe('networkOf', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:51234', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:0201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['[::ffff:192.0.2.1]:443', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['[2001:db8::1]:443', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['2001:db8:1:2:3:4:192.0.2.1', '2001:db8:1:2::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['::192.0.2.1', '192.0.2.1'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['fe80::1%en-0.1', 'fe80:0:0:0::/64'],
    ['::ffff:192.0.2.1%1', '192.0.2.1'],
    [undefined, 'unknown'],
    ['', 'unknown'],
    ['unknown', 'unknown'],
    ['192.0.2.1\r\nforged', 'unknown'],
    ['192.0.2.999', 'unknown'],
    ['192.0.2.1%eth0', 'unknown'],
    ['192.0.513', 'unknown'],
    ['192.0.2.01', 'unknown'],
    ['0xc0.0.2.1', 'unknown'],
    ['3221225985', 'unknown'],
    ['::ffff:192.0.2.010', 'unknown'],
    ['fe80::1%', 'unknown'],
    ['fe80::1%\r\nforged', 'unknown'],
    ['2001:db8::1::2', 'unknown'],
    ['x'.repeat(10_000), 'unknown'],
  ])('%s: %s', (address, network) => expect(networkOf(address)).toBe(network));

  it('knows the network of every text that Node.js accepts as an IPv6 address', () => {
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
  ['0:0:0:0::/64', '0:0::/32'],
  ['unknown', 'unknown'],
  ['c5c0ba56-4e29-4bb1-b7f6-3c3a4b3c9f0e', 'c5c0ba56-4e29-4bb1-b7f6-3c3a4b3c9f0e'],
])('the wider network of %s: %s', (network, wider) => expect(widerNetworkOf(network)).toBe(wider));
