import type { Type } from '@nestjs/common';
import { FIELDS } from './fields.js';
import { HEADER_PARAMETERS } from './headers.js';
import type { Json, Operation } from './operation.js';
import type { Route } from './routes.js';
import { completeSchema } from './schemas.js';

/** Where a route is, and the schemas of all classes by their names. */
interface Place {
  readonly path: string;
  readonly schemas: Readonly<Record<string, Json>>;
}

/** The parameters of a route: those of its path, its query and its headers. */
export function parametersOf(
  { parameters: examples, queryTypes }: Operation,
  { query, headers }: Route,
  { path, schemas }: Place,
): Json[] {
  const example = (name: string): Json => (examples?.[name] === undefined ? {} : { example: examples[name] });
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => pathParameter(name!));
  const inQuery = queryParameters(queryTypes ?? (query ? [query] : []), schemas);
  const inHeaders = headers.flatMap((name): Json[] => {
    const header = HEADER_PARAMETERS[name];
    return header ? [header] : [];
  });
  const all: Json[] = [...inPath, ...inQuery, ...inHeaders];
  return all.map((one) => ({ ...one, ...example(one['name'] as string) }));
}

function pathParameter(name: string): Json {
  const common = { name, in: 'path', required: true };
  if (name === 'name') {
    return { ...common, description: 'Name of the configured provider.', schema: { type: 'string' } };
  }
  const { examples: _examples, ...schema } = FIELDS[name] ?? {};
  return { ...common, description: 'A UUID, in any case.', schema: { type: 'string', ...schema } };
}

/** Those of several classes together: needed is what all of them need. */
function queryParameters(types: readonly Type[], schemas: Place['schemas']): Json[] {
  const completed = types.map((type) => completeSchema(schemas[type.name]!, type));
  const found = new Map<string, Json>();
  for (const { properties } of completed) {
    for (const [name, member] of Object.entries(properties as Record<string, Json>)) {
      if (found.has(name)) continue;
      const { description, examples: _examples, ...schema } = member;
      const required = completed.every((one) => (one['required'] as string[] | undefined)?.includes(name));
      found.set(name, {
        name,
        in: 'query',
        required,
        ...(description !== undefined && { description }),
        schema,
      });
    }
  }
  return [...found.values()];
}
