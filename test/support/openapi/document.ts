import { readFileSync } from 'node:fs';
import type { Document, Operation } from '../../../openapi/page/document.js';

export const document = JSON.parse(
  readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
) as Document;

export interface Route {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Every call that the document has. */
export const routes: readonly Route[] = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

/** Which kind of token a call needs. */
export function tokenOf({ security }: Operation): 'accessToken' | 'serviceKey' | undefined {
  const names = security.flatMap((one) => Object.keys(one));
  return (['accessToken', 'serviceKey'] as const).find((name) => names.includes(name));
}
