import { sameEndpoint } from './dpop-proofs.js';

describe('the address that a proof is for (RFC 9449 §4.3, 9)', () => {
  const ofProduction = sameEndpoint('https://id.example/oauth2/token', { loopback: false });
  const ofMachine = sameEndpoint('http://localhost:3000/oauth2/token', { loopback: true });

  it.each([
    'https://id.example/oauth2/token',
    'https://id.example:443/oauth2/token',
    'HTTPS://ID.Example/oauth2/token',
    'https://id.example/x/../oauth2/token',
    'https://id.example/oauth2/token?a=b#c',
  ])('%s', (address) => expect(ofProduction(address)).toBe(true));

  it.each([
    '',
    'x',
    '/oauth2/token',
    'http://id.example/oauth2/token',
    'https://id.example/oauth2/token/',
    'https://id.example/oauth2/refresh',
    'https://id.example/OAuth2/token',
    'https://id.example/oauth2%2ftoken',
    'https://id.example/oauth2/%74oken',
    'https://id.example:8443/oauth2/token',
    'https://id.example./oauth2/token',
    'https://id.example.evil.example/oauth2/token',
    'https://id.example@evil.example/oauth2/token',
    'https://user@id.example/oauth2/token',
    'https://:word@id.example/oauth2/token',
    'https://localhost/oauth2/token',
    'javascript:https://id.example/oauth2/token',
    'https://[/oauth2/token',
  ])('not %s', (address) => expect(ofProduction(address)).toBe(false));

  it.each(['localhost', '127.0.0.1', '[::1]', '127.0.0.2'])('of this machine by the name %s', (name) => {
    expect(ofMachine(`http://${name}:3000/oauth2/token`)).toBe(true);
    expect(ofMachine(`http://${name}:3001/oauth2/token`)).toBe(false);
    expect(ofMachine(`https://${name}:3000/oauth2/token`)).toBe(false);
    expect(ofMachine(`http://${name}:3000/oauth2/refresh`)).toBe(false);
  });

  it('by no other name than its own in production, nor where it is not on this machine', () => {
    const strict = sameEndpoint('http://localhost:3000/oauth2/token', { loopback: false });
    expect(strict('http://127.0.0.1:3000/oauth2/token')).toBe(false);
    const elsewhere = sameEndpoint('https://id.example/oauth2/token', { loopback: true });
    expect(elsewhere('https://localhost/oauth2/token')).toBe(false);
  });
});
