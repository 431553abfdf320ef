import { fail, pass, type Rule } from '../rule.js';

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

export const https: Rule = {
  id: 'https',
  clause: 'RFC 6749 §3.1',
  title: 'the provider is reached by https',
  level: 'advice',
  run({ providerUrl }) {
    const { protocol, hostname } = new URL(providerUrl);
    if (protocol === 'https:') return pass('https');
    if (LOOPBACK.test(hostname)) return pass('http on this machine only');
    return fail('http', 'use https: codes, secrets and passwords travel over it');
  },
};
