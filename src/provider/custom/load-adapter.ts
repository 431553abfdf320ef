import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ProviderAdapter } from '../provider-adapter.js';

/**
 * Loads an integrator's adapter (contract §2, `adapter`): the default export of a package, or of a file.
 *
 * @param name of the package, or the absolute path of the file
 * @throws an error whose message says on one line what is wrong with it
 */
export async function loadAdapter(name: string): Promise<ProviderAdapter> {
  const adapter = await importDefault(isAbsolute(name) ? pathToFileURL(name).href : name);
  const missing = ['authorizationUrl', 'exchange'].filter((method) => !hasMethod(adapter, method));
  if (missing.length > 0) {
    throw new Error(
      `is not an adapter: its default export has no ${missing.map((m) => `${m}()`).join(' and no ')}`,
    );
  }
  const { issuer, check } = adapter as Record<string, unknown>;
  if (issuer !== undefined && issuer !== 'own' && typeof issuer !== 'function') {
    throw new Error("is not an adapter: its issuer is neither a function nor 'own'");
  }
  if (check !== undefined && typeof check !== 'function') {
    throw new Error('is not an adapter: its check is not a function');
  }
  return adapter as ProviderAdapter;
}

async function importDefault(specifier: string): Promise<unknown> {
  try {
    return ((await import(specifier)) as { default?: unknown }).default;
  } catch (error) {
    const { message = 'unknown error' } = (error ?? {}) as { message?: string };
    throw new Error(`cannot be loaded (${message.split('\n')[0]})`, { cause: error });
  }
}

/** Looks at inherited methods too: an adapter may be an instance of a class. */
function hasMethod(value: unknown, name: string): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof (value as Record<string, unknown>)[name] === 'function'
  );
}
