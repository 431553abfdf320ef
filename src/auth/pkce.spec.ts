import { verifierMatches } from './auth.service.js';

// RFC 7636, appendix B
const VERIFIER = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk';
const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';

describe('a code verifier', () => {
  it.each<[string, string, boolean]>([
    [VERIFIER, CHALLENGE, true],
    [`${VERIFIER}x`, CHALLENGE, false],
    [CHALLENGE, CHALLENGE, false],
    [VERIFIER, `${CHALLENGE}=`, false],
  ])('%s', (verifier, challenge, matches) => expect(verifierMatches(verifier, challenge)).toBe(matches));
});
