import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { signIn } from './sign-in.js';

/**
 * Signs in at the provider `stub`, and puts the session where `@latchkey/client` keeps it. Pages that are open in the same
 * browser hear of it, as of a sign-in in another tab.
 * @param page of the application's origin
 * @param age of the access token, seconds
 * @returns the user's id
 */
export async function storeSession(page: Page, service: string, user: string, age = 0): Promise<string> {
  const device_id = randomUUID();
  const tokens = await signIn(service, user, { device_id });
  const now = Date.now();
  const stored = { ...tokens, device_id, received_at: now - age * 1000, signed_in_at: now };
  const parameters = [`latchkey:${service}`, JSON.stringify(stored)].map((text) => JSON.stringify(text));
  await page.evaluate(
    `localStorage.setItem(${parameters.join()}); dispatchEvent(new StorageEvent('storage'))`,
  );
  return tokens.user_id;
}
