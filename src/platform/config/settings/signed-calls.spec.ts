import { isPublicAddress } from '../urls/urls.js';
import { eventNames } from './signed-calls.js';
import { parseSettings } from './parse-settings.js';

const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const PRODUCTION = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://u@db/d',
  SECRET_KEY: '5e'.repeat(32),
  REDIRECT_URIS: 'https://app.example/callback',
  PUBLIC_URL: 'https://id.example',
  TRUST_PROXY: '1',
};

const parse = (env: Record<string, string>) => parseSettings({ WEBHOOK_SECRET: SECRET, ...env });

describe('settings of webhooks', () => {
  it('are unset by default', () => {
    expect(parseSettings({})).toMatchObject({ webhookUrls: undefined, webhookEvents: undefined });
  });

  it('take each address once, and several secrets', () => {
    const url = 'https://hooks.example/a?b=c';
    const other = `whsec_${Buffer.alloc(64, 2).toString('base64')}`;
    const env = { WEBHOOK_URLS: `${url}, http://[::1]:9,${url}`, WEBHOOK_SECRET: `${SECRET},${other}` };
    expect(parse({ ...env, WEBHOOK_EVENTS: 'sign_in, webhook_paused' })).toMatchObject({
      webhookUrls: [url, 'http://[::1]:9'],
      webhookSecret: [SECRET, other],
      webhookEvents: ['sign_in', 'webhook_paused'],
      webhookPrivate: true,
    });
  });

  it.each([
    ['WEBHOOK_URLS', 'http://hooks.example'],
    ['WEBHOOK_URLS', 'https://user:word@hooks.example'],
    ['WEBHOOK_URLS', 'https://hooks.example/#a'],
    ['WEBHOOK_URLS', 'ftp://hooks.example'],
    ['WEBHOOK_URLS', Array.from({ length: 21 }, (_, i) => `https://hooks.example/${i}`).join(',')],
    ['WEBHOOK_SECRET', 'whsec_'],
    ['WEBHOOK_SECRET', SECRET.slice('whsec_'.length)],
    ['WEBHOOK_SECRET', `whsec_${Buffer.alloc(23, 1).toString('base64')}`],
    ['WEBHOOK_SECRET', `whsec_${Buffer.alloc(65, 1).toString('base64')}`],
    ['WEBHOOK_EVENTS', 'sign_in,sign in'],
    ['WEBHOOK_PRIVATE', 'yes'],
  ])('%s=%s is refused; addresses and secrets are not shown', (name, value) => {
    expect(() => parse({ [name]: value })).toThrow(name);
    if (name === 'WEBHOOK_EVENTS' || name === 'WEBHOOK_PRIVATE') return;
    expect(() => parse({ [name]: value })).toThrow('not shown (secret)');
  });

  it('take names of events that exist', () => {
    const { parse: parseNames, accepts } = eventNames(['sign_in', 'sign_out']);
    expect(parseNames('sign_out, sign_in')).toEqual(['sign_out', 'sign_in']);
    expect(() => parseNames('sign_in,signin')).toThrow('value refused');
    expect(accepts).toContain('sign_in, sign_out');
  });

  it('WEBHOOK_URLS needs WEBHOOK_SECRET', () => {
    expect(() => parseSettings({ WEBHOOK_URLS: 'https://hooks.example' })).toThrow(
      'WEBHOOK_SECRET is not set, but WEBHOOK_URLS is',
    );
  });

  it('WEBHOOK_URLS needs stored events', () => {
    const env = { WEBHOOK_URLS: 'https://hooks.example', AUDIT_RETENTION_DAYS: '0' };
    expect(() => parse(env)).toThrow('AUDIT_RETENTION_DAYS is 0, but WEBHOOK_URLS is set');
  });

  it.each([
    'http://localhost:9',
    'https://localhost./',
    'https://a.localhost',
    'https://A.B.LocalHost.:9/x',
    'https://10.0.0.1.',
    'https://127.1/a',
    'https://2130706433',
    'https://[::ffff:10.0.0.1]',
    'https://169.254.169.254',
    'https://[fd00::1]:9',
    'https://100.64.0.1',
  ])('%s is refused in production, unless WEBHOOK_PRIVATE is true', (url) => {
    expect(() => parse({ ...PRODUCTION, WEBHOOK_URLS: url })).toThrow(
      'WEBHOOK_URLS has an address of this machine',
    );
    expect(parse({ ...PRODUCTION, WEBHOOK_URLS: url, WEBHOOK_PRIVATE: 'true' }).webhookUrls).toEqual([url]);
  });

  it('production takes names and public addresses', () => {
    const urls = ['https://hooks.example', 'https://93.184.216.34', 'https://[2606:4700::1]'];
    const settings = parse({ ...PRODUCTION, WEBHOOK_URLS: urls.join(',') });
    expect(settings).toMatchObject({ webhookUrls: urls, webhookPrivate: false });
  });
});

describe('an address is public', () => {
  it.each(['93.184.216.34', '::ffff:93.184.216.34', '2606:4700::1', '64:ff9b::5db8:d822'])('%s', (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );

  it.each([
    ['private', '10.0.0.1', '172.16.0.1', '192.168.1.1', '::ffff:10.0.0.1', '64:ff9b::a00:1'],
    ['loopback', '127.0.0.1', '127.255.0.1', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
    ['link-local', '169.254.169.254', 'fe80::1', 'fe80::1%eth0', '::ffff:169.254.169.254'],
    ['unique local', 'fc00::1', 'fd00:ec2::254'],
    ['shared', '100.64.0.1', '100.127.255.255'],
    ['unspecified', '0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0'],
    ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '192.0.2.1', '198.18.0.1', '240.0.0.1', '2001:db8::1', '100::1', 'fec0::1', '64:ff9b:1::1'],
    ['a tunnel', '2002:a00:1::', '2001:0:a00:1::'],
    ['an IPv4-compatible address', '::10.0.0.1', '::5db8:d822'],
    ['no address', '', 'localhost', '010.0.0.1', '127.1', '1.2.3.4.5'],
  ])('unless it is %s', (_kind, ...addresses) => {
    expect(addresses.filter(isPublicAddress)).toEqual([]);
  });
});
