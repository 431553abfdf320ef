import { randomUUID } from 'node:crypto';
import request from 'supertest';
import { startTestService, type TestService } from '../support/service.js';
import { bearer, signIn } from '../support/sign-in.js';
import { StubProvider } from '../support/stub-provider.js';

const WRITES = 5;

/**
 * A thief of an access token renames devices at full speed: each rename is an event in the owner's history, whose length
 * test/channel/channel-history.spec.ts limits.
 */
describe('a flood of renames', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    const limits = { RATE_LIMIT: 'on', RATE_LIMIT_WRITE: String(WRITES), TRUST_PROXY: 'false' };
    service = await startTestService({ ...provider.env(), ...limits });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  it('is limited for the user, who can sign out and remove devices all the same', async () => {
    const { url } = service;
    const [user, device, stolen] = [randomUUID(), randomUUID(), randomUUID()];
    const owner = await signIn(url, user, { device_id: device });
    const thief = await signIn(url, user, { device_id: stolen });
    const rename = () => bearer(url, thief.access_token).patch(`/devices/${stolen}`, { device_name: 'x' });
    let statuses: number[]; // of a flood within one minute: the count starts again each minute
    do statuses = (await Promise.all(Array.from({ length: 2 * WRITES }, rename))).map(({ status }) => status);
    while (!statuses.includes(429));
    const mine = bearer(url, owner.access_token);
    await mine.delete(`/devices/${randomUUID()}`).expect(404);
    await mine.delete(`/devices/${stolen}`).expect(204);
    await bearer(url, thief.access_token).get('/me').expect(401);
    await mine.post('/sign-out', { scope: 'others' }).expect(204);
    await request(url).post('/oauth2/revoke').send({ token: owner.refresh_token }).expect(200);
    await mine.get('/me').expect(401);
  });
});
