import request from 'supertest';
import { startTestService } from '../support/service.js';
import { use } from '../support/use.js';

function providerSettings(name: string, emailDomains?: string): Record<string, string> {
  return {
    [`providers.${name}.url`]: `https://${name}.example`,
    [`providers.${name}.client_id`]: 'latchkey',
    [`providers.${name}.client_secret`]: 'a secret of the test',
    ...(emailDomains !== undefined && { [`providers.${name}.email_domains`]: emailDomains }),
  };
}

describe('GET /oauth2/providers?email=', () => {
  const service = use(() =>
    startTestService({
      ...providerSettings('corp', 'corp.example, Corp.Test, Bücher.example'),
      ...providerSettings('partner', 'partner.example,corp.test,xn--mnchen-3ya.example'),
      ...providerSettings('open'),
      'providers.mock.enabled': 'false',
      RATE_LIMIT: 'on',
      RATE_LIMIT_AUTHORIZE: '24',
    }),
  );

  const list = (email?: string): request.Test =>
    request(service.url)
      .get('/oauth2/providers')
      .query(email === undefined ? {} : { email });

  it.each<[email: string, names: string[]]>([
    ['ada@corp.example', ['corp']],
    ['@corp.example', ['corp']],
    ['ada@CORP.example', ['corp']],
    ['"a@partner.example"@corp.example', ['corp']],
    ['ada@corp.test', ['corp', 'partner']],
    ['ada@eu.corp.example', ['open']],
    ['@bücher.example', ['corp']],
    ['@XN--BCHER-KVA.example', ['corp']],
    ['ada@münchen.example', ['partner']],
    ['@xn--mnchen-3ya.example', ['partner']],
    ['ada@bücher\u3002example', ['open']],
    ['ada@mün\u00adchen.example', ['open']],
    ['ada@elsewhere.example', ['open']],
  ])('%s: %j', async (email, names) => {
    const { body, headers } = await list(email).expect(200);
    const { providers } = body as { providers: { name: string }[] };
    expect(providers.map(({ name }) => name)).toEqual(names);
    expect(headers['cache-control']).toBe('no-store');
  });

  it('without an address, lists all, and says that an address helps', async () => {
    const { body, headers } = await list().expect(200);
    expect(body).toMatchObject({ by_email: true, providers: [{}, {}, {}] });
    expect(headers['cache-control']).toBe('public, max-age=300');
  });

  it.each(['corp.example', 'ada@', '@', 'ada@corp example', 'a'.repeat(321)])('refuses %j', async (email) => {
    const { body } = await list(email).expect(400);
    expect(body).toMatchObject({ error: 'invalid_request' });
  });

  it('counts as a begin of a sign-in', async () => {
    let status = 200;
    for (let i = 0; i < 25 && status === 200; i++) ({ status } = await list('@corp.example'));
    expect(status).toBe(429);
    await list().expect(200);
  });
});
