import { readFileSync } from 'node:fs';

interface Content {
  readonly schema: object;
  readonly examples?: Readonly<Record<string, { readonly summary?: string; readonly value: unknown }>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, object>>;
}

interface Document {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, object>> };
}

export const document = JSON.parse(
  readFileSync(new URL('../../docs/openapi.json', import.meta.url), 'utf8'),
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
export function tokenOf({ security }: Operation): 'serviceKey' | 'accessToken' | undefined {
  const names = security.flatMap((one) => Object.keys(one));
  return (['serviceKey', 'accessToken'] as const).find((name) => names.includes(name));
}
