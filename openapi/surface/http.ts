import type { Entry, Surface } from './compare.js';

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}
interface Response extends Content {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}
interface Operation {
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly {
    readonly in: string;
    readonly name: string;
    readonly required?: boolean;
    readonly schema: Schema;
  }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Response>>;
}
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

const ERROR = '#/components/schemas/Error';

/** Returns the endpoints of docs/openapi.json, with all that they take and answer. */
export function httpSurface({ paths, components }: OpenApi): Surface {
  const endpoints: Record<string, Entry> = {};
  const requests: Record<string, Entry> = {};
  const answers: Record<string, Entry> = {};
  const resolve = <Referring extends { readonly $ref?: string }>(one: Referring): Referring => {
    if (one.$ref === undefined) return one;
    const [, kind, name] = /^#\/components\/(\w+)\/(.+)$/.exec(one.$ref)!;
    return { ...components[kind as 'schemas'][name!], ...one, $ref: undefined };
  };

  /** Adds the members of an object, of its objects and of its lists. */
  function addMembers(
    into: Record<string, Entry>,
    head: string,
    schema: Schema,
    mark: 'required' | 'always',
  ): void {
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      const isMarked = schema.required?.includes(name);
      const list = resolve(member);
      const items = list.items && resolve(list.items);
      const { type, values, ...limits } = describe(list, items);
      // what an answer says is not compared with limits
      const limit = mark === 'required' ? limits : {};
      into[head + name] = { ...(isMarked && { [mark]: true }), type, ...limit, ...(values && { values }) };
      if (items && mark === 'required' && !items.properties) into[`${head}${name}[]`] = describe(items);
      if (items) addMembers(into, `${head}${name}[].`, items, mark);
      else for (const one of alternatives(member)) addMembers(into, `${head}${name}.`, one, mark);
    }
  }
  const alternatives = (schema: Schema): readonly Schema[] => {
    const found = resolve(schema);
    return found.anyOf?.map((one) => resolve(one)) ?? [found];
  };

  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const endpoint = `${method.toUpperCase()} ${path}`;
      const { security, parameters = [], requestBody, responses } = operation;
      const values = [
        ...callersOf(security),
        ...Object.keys(requestBody?.content ?? {}).map((type) => `takes ${type}`),
      ];
      for (const { in: place, name, required, schema } of parameters) {
        const key = place === 'query' ? `?${name}` : `${place}:${name}`;
        const mark = required && place !== 'path' && { required };
        requests[`${endpoint} ${key}`] = { ...mark, ...describe(resolve(schema)) };
      }
      const [body] = Object.values(requestBody?.content ?? {});
      const bodies = body?.schema.anyOf ?? (body ? [body.schema] : []);
      for (const one of bodies) {
        // of several bodies each has a name, since each requires other members
        const name = bodies.length > 1 ? one.$ref!.split('/').at(-1) : undefined;
        if (name !== undefined) requests[`${endpoint} ${name}`] = {};
        addMembers(requests, `${endpoint} ${name === undefined ? '' : `${name}.`}`, resolve(one), 'required');
      }
      for (const [status, response] of Object.entries(responses)) {
        const { content = {}, headers = {} } = resolve(response);
        values.push(...Object.keys(headers).map((name) => `${status} with ${name}`));
        if (Object.keys(content).length === 0) values.push(status);
        for (const [type, { schema }] of Object.entries(content)) {
          if (schema.$ref === ERROR) {
            const codes = schema.properties?.['error']?.enum ?? ['any code'];
            values.push(...codes.map((code) => `${status} ${code as string}`));
          } else {
            values.push(`${status} ${type}`);
            addAnswer(`${endpoint} ${status} `, alternatives(schema));
          }
        }
      }
      endpoints[endpoint] = { values: [...new Set(values)] };
    }
  }

  /** Adds the members of all alternatives; `always` is what each of them has. */
  function addAnswer(head: string, schemas: readonly Schema[]): void {
    const found = schemas.map((schema) => {
      const members: Record<string, Entry> = {};
      addMembers(members, head, schema, 'always');
      return members;
    });
    const merged: Record<string, Entry> = Object.assign({}, ...found);
    for (const [name, { always, ...entry }] of Object.entries(merged)) {
      const isAlways = always && found.every((members) => members[name]?.always);
      answers[name] = { ...(isAlways && { always }), ...entry };
    }
  }
  const codes = resolve<Schema>({ $ref: ERROR }).properties!['error']!.enum as readonly string[];
  return { endpoints, requests, answers, 'error codes': Object.fromEntries(codes.map((code) => [code, {}])) };
}

function callersOf(security: Operation['security']): readonly string[] {
  if (security.length === 0) return ['as anyone'];
  return security.map((scheme) => {
    const [found] = Object.entries(scheme);
    return found ? `as ${[found[0], ...found[1]].join(' ')}` : 'as anyone';
  });
}

function describe(schema: Schema, items?: Schema): Entry & { readonly type: string } {
  const { pattern, format, anyOf } = schema;
  const values = (items ?? schema).enum as readonly string[] | undefined;
  const type = anyOf ? 'any of several' : typeOf(schema);
  const min = schema.minimum ?? schema.minLength ?? schema.minItems;
  const max = schema.maximum ?? schema.maxLength ?? schema.maxItems;
  return {
    type: items ? `${type} of ${typeOf(items)}` : type,
    ...(pattern !== undefined && format === undefined && { pattern }),
    ...(min !== undefined && { min }),
    ...(max !== undefined && { max }),
    ...(values && { values: values.map(String) }),
  };
}

function typeOf({ type = 'any', format }: Schema): string {
  const names = [type].flat().join('|');
  return format === undefined ? names : `${names} (${format})`;
}
