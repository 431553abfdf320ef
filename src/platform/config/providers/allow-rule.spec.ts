import { parseSettings } from '../settings/parse-settings.js';
import { textOf } from './allow-rule.js';

const IDP = {
  PROVIDERS_IDP_URL: 'https://idp.example',
  PROVIDERS_IDP_CLIENT_ID: 'latchkey',
  PROVIDERS_IDP_CLIENT_SECRET: 'a client secret',
  PROVIDERS_IDP_CLAIMS: 'groups=groups',
};
const start = (rule: string) => parseSettings({ ...IDP, PROVIDERS_IDP_ALLOW: rule });

describe('the setting allow of a provider', () => {
  it('is kept as it is set', () => {
    const rule = start('email_domain=Corp.example & claim:groups=a%2Cb,user_id=42').providers.get(
      'idp',
    )?.allow;
    expect(textOf(rule)).toBe('email_domain=Corp.example & claim:groups=a%2Cb, user_id=42');
    expect(textOf(parseSettings(IDP).providers.get('idp')?.allow)).toBe(null);
  });

  it.each([
    ['user_id=1,', 'has an empty condition. Use conditions separated by commas'],
    ['user_id=1&', 'has an empty condition'],
    ['everyone', 'is invalid. Use conditions separated by commas (email_domain=corp.example'],
    ['claim=staff', 'has an unknown condition (did you mean claim:<name>=…?)'],
    ['user_id=', 'is invalid'],
    ['email-domain=corp.example', 'has an unknown condition (did you mean email_domain=…?)'],
    ['emial=ada@corp.example', 'has an unknown condition (did you mean email=…?)'],
    ['userid=42', 'has an unknown condition (did you mean user_id=…?)'],
    ['clam:groups=staff', 'has an unknown condition (did you mean claim:<name>=…?)'],
    ['email_domain=@corp.example', 'names no domain'],
    ['email_domain=*', 'names no domain'],
    ['email=corp.example', 'names no e-mail address'],
    ['claim:', 'names no claim of a user'],
    ['claim:sub=1', 'names no claim of a user'],
    ['user_id=%4', 'has a % that is not followed by two hexadecimal digits'],
    [Array.from({ length: 201 }, () => '*').join(), 'has more than 200 conditions'],
    [
      'claim:grups=staff',
      'is about a claim that is not kept (did you mean groups?). Use PROVIDERS_IDP_CLAIMS with grups=<path>',
    ],
    [
      'user_id=1, email=a@b.example&claim:team',
      'is about a claim that is not kept. Use PROVIDERS_IDP_CLAIMS',
    ],
  ])('%j prevents the start: it %s', (rule, problem) => {
    const errors = [expect.stringContaining(`PROVIDERS_IDP_ALLOW ${problem}`)];
    expect(() => start(rule)).toThrow(expect.objectContaining({ name: 'InvalidSettings', errors }));
  });
});
