import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { providerSettings } from '../../test/support/provider-settings.js';
import { checkIssuer } from './callback-issuer.js';
import type { ProviderAdapter } from './provider-adapter.js';
import { ProviderRefusal } from './transport/provider-answer.js';

const ISS = 'https://id.example';

function check(issuer: unknown, set?: string): Promise<void> {
  const settings = { ...providerSettings('acme'), ...(set !== undefined && { issuer: set }) };
  return checkIssuer({ issuer } as unknown as ProviderAdapter, settings, ISS);
}

describe('iss of a callback', () => {
  it.each<[string, unknown, string?]>([
    ['is judged by the adapter itself', 'own'],
    ['is what the adapter says', () => ISS],
    ['is what the adapter finds out', () => Promise.resolve(ISS)],
    ['is what was set, where the adapter has none', undefined, ISS],
    ['is what was set, where the adapter does not know', () => undefined, ISS],
  ])('%s', async (_name, issuer, ...[set]) => {
    await expect(check(issuer, set)).resolves.toBeUndefined();
  });

  it.each<[string, unknown, string?]>([
    ['of another server', () => 'https://other.example'],
    ['of another server than the adapter’s, though that was set', () => 'https://other.example', ISS],
    ['of another server than was set', undefined, 'https://other.example'],
    ['that only begins alike', () => `${ISS}/`],
  ])('%s is refused', async (_name, issuer, ...[set]) => {
    const refusal: unknown = await check(issuer, set).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(ProviderRefusal);
    expect(refusal).toMatchObject({
      error: 'invalid_grant',
      message: 'the callback names another issuer: invalid_grant',
    });
  });

  it('is refused where nobody knows what it must be, and the log says what to set', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
    const refusal: unknown = await check(undefined).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      error: 'invalid_grant',
      message: 'the issuer of the callback cannot be judged: invalid_grant',
    });
    const { variables } = providerSettings('acme');
    expect(warn.mock.calls).toEqual([
      [`a callback of provider acme has an iss, and was refused: set ${variables.issuer} to what it must be`],
    ]);
    expect(warn.mock.contexts[0]).toMatchObject({ context: 'CallbackIssuer' });
    warn.mockRestore();
  });

  it('of an adapter that says a number is its fault', async () => {
    await expect(check(() => 7)).rejects.toThrow(new Error('the adapter has an issuer that is not text'));
  });
});
