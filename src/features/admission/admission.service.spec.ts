import { randomUUID } from 'node:crypto';
import { answerWith, RawProvider } from '../../../test/support/raw-provider.js';
import type { Settings } from '../../platform/config/settings/settings.js';
import type { Clock } from '../../platform/database/clock.js';
import type { OAuthError } from '../../platform/errors/oauth-error.js';
import { AdmissionService } from './admission.service.js';

const OTHER_URL = 'http://admission.example/secret-path';

describe('calls of the admission service', () => {
  let receiver: RawProvider;
  let service: AdmissionService;
  beforeEach(async () => {
    receiver = await RawProvider.start();
  });
  afterEach(async () => {
    await service.onApplicationShutdown();
    await receiver.close();
  });

  function create(admissionUrl: string, webhookPrivate: boolean): AdmissionService {
    const admissionSecret = [`whsec_${Buffer.alloc(24, 1).toString('base64')}`];
    const settings = { admissionUrl, admissionSecret, webhookPrivate, secretFiles: new Map() };
    return new AdmissionService(settings as unknown as Settings, { now: () => Date.now() } as Clock);
  }
  const failure = (requested: Promise<unknown>): Promise<OAuthError> =>
    requested.then(
      () => Promise.reject(new Error('there was a decision')),
      (error: unknown) => error as OAuthError,
    );

  it('are a hundred at a time; nobody waits for a free one', async () => {
    service = create(receiver.url, true);
    let answered = false;
    receiver.answer = (socket) => void (answered || socket.pause());
    const calls = Array.from({ length: 100 }, () => failure(service.ask({ user_id: randomUUID() })));
    const beyond = await Promise.race([
      failure(service.ask({ user_id: randomUUID() })),
      ...calls.map(async (call) => (await call) && Promise.reject(new Error('it waited'))),
    ]);
    expect(beyond).toMatchObject({ error: 'server_error', headers: { 'Retry-After': '1' } });
    expect(beyond.reason).toBe('ADMISSION_URL: too many calls at a time');
    const reasons = (await Promise.all(calls)).map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set(['ADMISSION_URL: no answer within 2 s']));
    answered = true;
    receiver.answer = answerWith('HTTP/1.1 200 OK\r\nContent-Length: 14\r\n\r\n{"allow":true}');
    expect(await service.ask({ user_id: randomUUID() })).toEqual({ isAllowed: true, claims: {} });
  });

  it('go to no private network, unless that is allowed', async () => {
    service = create(receiver.url, false);
    const { reason } = await failure(service.ask({ user_id: randomUUID() }));
    expect(reason).toBe('ADMISSION_URL: the address is in a private network (WEBHOOK_PRIVATE)');
    expect(receiver.sockets).toEqual([]);
  });

  it('have no path in their errors', async () => {
    service = create(OTHER_URL, true);
    const error = await failure(service.ask({ user_id: randomUUID() }));
    expect(error).toMatchObject({ error: 'server_error' });
    expect(error.reason).toMatch(/^ADMISSION_URL: /);
    expect(JSON.stringify([error.cause, (error.cause as Error).message])).not.toContain('secret-path');
  });
});
