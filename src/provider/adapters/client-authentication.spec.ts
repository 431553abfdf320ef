import { clientAuthentication } from './client-authentication.js';

function sent(
  usual: 'client_secret_basic' | 'client_secret_post',
  options: Record<string, string> = {},
): object {
  const [form, headers] = [new URLSearchParams(), new Headers()];
  const authenticate = clientAuthentication({ clientSecret: 'a b-_.*~/é', options }, usual);
  authenticate({ issuer: 'https://id.example' }, { client_id: 'my app:1' }, form, headers);
  return { form: Object.fromEntries(form), header: headers.get('authorization') };
}

const credentials = Buffer.from('my+app%3A1:a+b-_.*%7E%2F%C3%A9').toString('base64');
const BASIC = { form: {}, header: `Basic ${credentials}` };
const POST = { form: { client_id: 'my app:1', client_secret: 'a b-_.*~/é' }, header: null };

describe('the client secret is sent', () => {
  it('as the adapter usually does', () => {
    expect(sent('client_secret_basic')).toEqual(BASIC);
    expect(sent('client_secret_post')).toEqual(POST);
  });

  it('as the settings say', () => {
    expect(sent('client_secret_post', { token_endpoint_auth_method: 'client_secret_basic' })).toEqual(BASIC);
    expect(sent('client_secret_basic', { token_endpoint_auth_method: 'client_secret_post' })).toEqual(POST);
  });
});
