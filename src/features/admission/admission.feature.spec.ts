import { parseSettings } from '../../settings.js';

const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const PRODUCTION = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://u@db/d',
  SECRET_KEY: '5e'.repeat(32),
  REDIRECT_URIS: 'https://app.example/callback',
  PUBLIC_URL: 'https://id.example',
  TRUST_PROXY: '1',
};

describe('settings of the admission service', () => {
  const parseAdmission = (env: Record<string, string>) => parseSettings({ ADMISSION_SECRET: SECRET, ...env });

  it('are unset by default; several secrets are for a change', () => {
    expect(parseSettings({})).toMatchObject({ admissionUrl: undefined, admissionSecret: undefined });
    const other = `whsec_${Buffer.alloc(64, 2).toString('base64')}`;
    const env = { ADMISSION_URL: 'https://crm.example/a?b=c', ADMISSION_SECRET: `${SECRET},${other}` };
    expect(parseAdmission(env)).toMatchObject({
      admissionUrl: env.ADMISSION_URL,
      admissionSecret: [SECRET, other],
    });
  });

  it.each([
    ['ADMISSION_URL', 'http://crm.example'],
    ['ADMISSION_URL', 'https://user:word@crm.example'],
    ['ADMISSION_URL', 'https://crm.example/#a'],
    ['ADMISSION_URL', 'https://crm.example,https://other.example'],
    ['ADMISSION_URL', 'crm.example'],
    ['ADMISSION_SECRET', 'whsec_'],
    ['ADMISSION_SECRET', 'secret'.repeat(10)],
    ['ADMISSION_SECRET', `whsec_${Buffer.alloc(23, 1).toString('base64')}`],
    ['ADMISSION_SECRET', `${SECRET},whsec_!`],
  ])('%s=%s is refused, and not shown', (name, value) => {
    expect(() => parseAdmission({ [name]: value })).toThrow(name);
    expect(() => parseAdmission({ [name]: value })).toThrow('not shown (secret)');
  });

  it('ADMISSION_URL needs ADMISSION_SECRET', () => {
    expect(() => parseSettings({ ADMISSION_URL: 'https://crm.example' })).toThrow(
      'ADMISSION_SECRET is not set, but ADMISSION_URL is',
    );
  });

  it.each(['http://localhost:9', 'https://10.0.0.1', 'https://[fd00::1]'])(
    '%s is refused in production, unless WEBHOOK_PRIVATE is true',
    (url) => {
      const env = { ...PRODUCTION, ADMISSION_URL: url };
      expect(() => parseAdmission(env)).toThrow(
        'ADMISSION_URL has an address of this machine or of a private network',
      );
      expect(parseAdmission({ ...env, WEBHOOK_PRIVATE: 'true' }).admissionUrl).toBe(url);
    },
  );
});
