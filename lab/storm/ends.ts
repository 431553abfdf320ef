import { randomUUID } from 'node:crypto';
import { bearer } from '../../test/support/sign-in.js';
import { until } from '../../test/support/waiting.js';
import type { StormWorld } from './storm-world.js';
import type { Tab, Told } from './tab.js';

const ends = async (world: StormWorld): Promise<Told['signedOut'][]> =>
  (await Promise.all(world.tabs.map((tab) => tab.tell(world.key)))).map(({ signedOut }) => signedOut);

async function untilEnded(world: StormWorld, count: number): Promise<{ ms: number; reasons: string[] }> {
  const begun = performance.now();
  const what = `every tab has told of ${count} ended sessions`;
  await until(async () => (await ends(world)).every(({ length }) => length === count), what);
  const ms = performance.now() - begun;
  return { ms, reasons: (await ends(world)).map((all) => all.at(-1)!.reason) };
}

/** Another device signs out all others: ours too. Counts from the answer. */
export async function endElsewhere(world: StormWorld): Promise<{ ms: number; reasons: string[] }> {
  const [{ url }] = world.services as [StormWorld['services'][0]];
  const other = await world.otherDevice(randomUUID());
  await bearer(url, other.access_token).post('/sign-out', { scope: 'others' }).expect(204);
  return untilEnded(world, 1);
}

/**
 * The user signs in again in one tab, and signs out in another at once, while the first still learns who the user is. Counts from the
 * call. @param before how many sessions have ended until then
 */
export async function endHere(world: StormWorld, before: number): Promise<{ ms: number; reasons: string[] }> {
  const [one, other] = world.tabs as [StormWorld['tabs'][0], StormWorld['tabs'][0]];
  await world.signIn(one);
  const isSignedIn = async ({ page }: Tab): Promise<boolean> =>
    page.evaluate('latchkey.session !== undefined');
  await until(async () => (await Promise.all(world.tabs.map(isSignedIn))).every(Boolean));
  const signedOut = other.page.evaluate('latchkey.signOut()');
  const ended = await untilEnded(world, before + 1);
  await signedOut;
  return ended;
}
