import { randomUUID } from 'node:crypto';
import { query } from '../support/database.js';
import { Person } from '../support/oidc-issuer.js';
import { hashOfName } from '../../src/token/sessions/recent-ends.js';
import { startTestService } from '../support/service.js';
import { caep, push, seconds, Transmitter } from '../provider-events/transmitter.js';
import { use } from '../support/use.js';

describe('changes of claims, in another order', () => {
  const transmitter = use(() => Transmitter.start());
  const here = use(() =>
    startTestService(transmitter.env({ PROVIDERS_CORP_CLAIM_USER_ID: 'preferred_username' })),
  );
  it('by the subject, then an older one by the address, of a user with a session of a former subject', async () => {
    const user = `user-${randomUUID()}`;
    const tokens = await transmitter.signIn(new Person(user), here);
    // an older session, from before the provider gave the user another sub
    for (let i = 0; i < 8; i++)
      await query(
        here.databaseUrl,
        `INSERT INTO refresh_tokens (user_id, session_id, token_hash, expires_at, provider_subject)
      VALUES ($1, $2, '\\x00', now() + interval '1 day', $3)`,
        [tokens.user_id, randomUUID(), hashOfName('corp', `former ${i}`)],
      );
    await query(
      here.databaseUrl,
      `UPDATE refresh_tokens SET created_at = now() - interval '1 hour' WHERE user_id = $1`,
      [tokens.user_id],
    );
    const change = (plan: string, at: number, sub_id: object) =>
      push(
        here,
        transmitter.set(caep('token-claims-change'), { claims: { plan }, event_timestamp: at }, { sub_id }),
      ).expect(202);
    await change('newer', seconds() - 10, transmitter.subject(user));
    await change('older', seconds() - 60, { format: 'email', email: `${user}@idp.example` });
    const rows = await query(
      here.databaseUrl,
      `SELECT reason FROM audit_events WHERE event = 'signal_received' ORDER BY at`,
    );
    const [row] = await query(here.databaseUrl, 'SELECT claims FROM users WHERE user_id = $1', [
      tokens.user_id,
    ]);
    expect([rows, row]).toMatchObject([
      [
        { reason: 'token-claims-change: claims applied' },
        { reason: 'token-claims-change: recorded only: the claims are newer' },
      ],
      { claims: { plan: 'newer' } },
    ]);
  });
});
