import { randomUUID } from 'node:crypto';
import { deriveUserId } from '../../src/identity/user-id.js';
import { query } from '../support/database.js';
import { Person } from '../support/oidc-issuer.js';
import { startTestService } from '../support/service.js';
import { caep, push, seconds, Transmitter } from '../provider-events/transmitter.js';
import { use } from '../support/use.js';

describe('claim_user_id is another claim with the same value as sub', () => {
  const transmitter = use(() => Transmitter.start());
  const here = use(() =>
    startTestService(transmitter.env({ PROVIDERS_CORP_CLAIM_USER_ID: 'preferred_username' })),
  );
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
