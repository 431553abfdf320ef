import { createSessions } from '../../src/session.js';
import { CookieSeal } from '../../src/session/cookie-seal.js';
import { FakeService, SERVICE_KEY } from '../support/fake-service.js';

const [SESSIONS, ROUNDS, CHECKS] = [5000, 10, 5000];
const NAME = '__Host-latchkey';

const median = (numbers: number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]!;

/** What a session check costs without network: opening the cookie, and the claims; and the memory of the tokens. */
export async function sessionChecks(): Promise<void> {
  const service = await FakeService.start();
  const cookieSecret = [
    'the newest secret, of 32 characters or more',
    'the former secret, of 32 characters or more',
  ];
  const sessions = createSessions({
    issuer: service.url,
    clientUrl: 'https://app.example',
    cookieSecret,
    serviceKey: SERVICE_KEY,
  });
  const used = (): number => {
    global.gc!();
    return process.memoryUsage().heapUsed;
  };
  for (const [which, secret] of cookieSecret.entries()) {
    const seal = new CookieSeal([secret]);
    const requests = Array.from({ length: SESSIONS }, (_, one) => {
      const cookie = `${NAME}=${seal.seal(NAME, `lkr_${'x'.repeat(100)}${which}${one}`)}`;
      return new Request('https://app.example/', { headers: { cookie } });
    });
    const before = used();
    for (let one = 0; one < SESSIONS; one += 50)
      await Promise.all(requests.slice(one, one + 50).map((request) => sessions.getSession(request)));
    const bytes = (used() - before) / SESSIONS;
    const times: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const began = performance.now();
      for (let check = 0; check < CHECKS; check++)
        if (!(await sessions.getSession(requests[check % SESSIONS]!))) throw new Error('no session');
      times.push((performance.now() - began) / CHECKS);
    }
    const age = which === 0 ? 'newest' : 'former';
    console.log(
      `session check, cookie of the ${age} secret: ${median(times).toFixed(4)} ms (median of ${ROUNDS} × ${CHECKS}), ` +
        `${bytes.toFixed(0)} bytes a session`,
    );
  }
  sessions.close();
  await service.close();
}
