import { randomUUID } from 'node:crypto';
import { asBrowser, eventsOf, HERE, storedEvents } from '../support/audit.js';
import { query } from '../support/database.js';
import { signIn } from '../support/sign-in.js';
import { startTestService, type TestService } from '../support/service.js';
import { StubProvider } from '../support/stub-provider.js';

describe('the stored audit trail (contract §9)', () => {
  let provider: StubProvider;
  let service: TestService;

  beforeAll(async () => {
    provider = await StubProvider.start();
    service = await startTestService({ ...provider.env(), LOG_LEVEL: 'info' });
  });
  afterAll(async () => {
    await service?.close();
    await provider?.close();
  });

  const during = (count: number, work: () => Promise<unknown>) => eventsOf(service.databaseUrl, count, work);

  it('has a renaming, written with it or not at all', async () => {
    const deviceId = randomUUID();
    const { access_token: token, user_id: userId } = await signIn(service.url, 'ada', {
      device_id: deviceId,
    });
    const rename = (name: string) =>
      asBrowser(service.url, token).patch(`/devices/${deviceId}`, { device_name: name });
    expect(await during(1, () => rename('Laptop').expect(200))).toEqual([
      {
        event: 'device_renamed',
        result: 'ok',
        user_id: userId,
        device_id: deviceId,
        provider: 'stub',
        actor: { type: 'user', name: userId },
        ...HERE,
      },
    ]);
    const before = await storedEvents(service.databaseUrl);
    await query(service.databaseUrl, 'ALTER TABLE audit_events ADD CONSTRAINT fails CHECK (false) NOT VALID');
    const lines = service.log.length;
    await rename('Other').expect(500);
    await query(service.databaseUrl, 'ALTER TABLE audit_events DROP CONSTRAINT fails');
    expect(await storedEvents(service.databaseUrl)).toEqual(before);
    const [device] = await query(
      service.databaseUrl,
      'SELECT device_name FROM devices WHERE device_id = $1',
      [deviceId],
    );
    expect(device).toEqual({ device_name: 'Laptop' });
    expect(service.log.slice(lines).join('')).not.toContain('device_renamed');
  });
});
