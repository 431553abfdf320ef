import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { query } from '../support/database.js';
import { Endings } from '../support/endings.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService, type TestService } from '../support/service.js';
import { caep, push, seconds, Transmitter } from '../provider-events/transmitter.js';

describe('claim_user_id is another claim with the same value as sub', () => {
  const endings = new Endings();
  let transmitter: Transmitter;
  let here: TestService;
  beforeAll(async () => {
    transmitter = endings.after(await Transmitter.start(), (one) => one.close());
    here = endings.after(
      await startTestService(transmitter.env({ PROVIDERS_CORP_CLAIM_USER_ID: 'preferred_username' })),
      (one) => one.close(),
    );
  });
  afterAll(() => endings.run());
  it('is found by a signal without a live session', async () => {
    const user = `user-${randomUUID()}`;
    const person = new Person(user);
    const tokens = await transmitter.signIn(person, here);
    expect(tokens.user_id).toBe(deriveUserId('corp', user));
    await query(here.databaseUrl, 'DELETE FROM refresh_tokens WHERE user_id = $1', [tokens.user_id]); // expired, and removed
    await push(
      here,
      transmitter.set(
        caep('token-claims-change'),
        { claims: { plan: 'gold' }, event_timestamp: seconds() + 5 },
        { sub_id: transmitter.subject(user) },
      ),
    ).expect(202);
    const rows = await query(
      here.databaseUrl,
      `SELECT user_id, reason FROM audit_events WHERE event = 'signal_received'`,
    );
    expect(rows).toMatchObject([{ reason: 'token-claims-change: claims applied' }]);
  });
});
