import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import {
  ANY_JSON,
  LIST,
  TEXT,
  WHOLE_NUMBER,
  type TextRuleRead,
} from '../src/platform/http/parameters/parameter.js';
import { OWN_UUID, UUID } from '../src/platform/http/parameters/uuid.js';
import { EXAMPLE } from './examples.js';
import { FIELDS } from './fields.js';
import { withoutCitations, type Json, type Source } from './sources.js';

/** Any JSON. */
const ANY: Json = {};

export interface ObjectSchema extends Json {
  properties?: Record<string, Json>;
  required?: string[];
}

/** A schema as `@nestjs/swagger` made it, with what else is known of its members. */
export function completeSchema(schema: ObjectSchema, type: Type | undefined): ObjectSchema {
  const rules = type ? rulesOf(type) : new Map<string, Json>();
  const isBody = rules.size > 0;
  const order = [...rules.keys()]; // members of a base class come last
  const members = Object.entries(schema.properties ?? {});
  if (isBody) members.sort(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  const properties = Object.fromEntries(
    members.map(([name, member]) => [
      name,
      isBody
        ? completeMember(
            member,
            rules.get(name) === ANY ? ANY : { ...examplesOf(name, type), ...rules.get(name) },
          )
        : completeMember(member, FIELDS[name] ?? {}),
    ]),
  );
  const required = schema.required?.filter((name) => name in properties);
  return {
    type: 'object',
    ...(required?.length && { required }),
    // What a body has beside is ignored; an answer has nothing beside.
    ...(!isBody && { additionalProperties: false }),
    properties,
  };
}

function completeMember(member: Json, known: Json): Json {
  const { description, format, default: _default, ...rest } = member;
  const words = typeof description === 'string' ? withoutCitations(description) : undefined;
  const time = format === 'date-time' && { format };
  const text = { ...(words && { description: words }) };
  if ('$ref' in rest || 'allOf' in rest) return { ...refOf(rest), ...text };
  if (known === ANY) return text;
  const merged: Json = { ...rest, ...time, ...known, ...text };
  if (Array.isArray(rest['type']) && typeof known['type'] === 'string') {
    merged['type'] = [known['type'], 'null'];
  }
  if (merged['enum'] !== undefined) {
    const accepts = merged['enum'] as unknown[];
    merged['type'] = accepts.includes(null) ? ['string', 'null'] : 'string';
    delete merged['pattern']; // the enum is stricter
    const examples = ((merged['examples'] ?? []) as unknown[]).filter((one) => accepts.includes(one));
    if (examples.length > 0) merged['examples'] = examples;
    else delete merged['examples']; // of a member of this name elsewhere
  }
  return merged;
}

function examplesOf(name: string, type: Type | undefined): Json {
  const { examples } = FIELDS[`${type?.name}.${name}`] ?? FIELDS[name] ?? {};
  return examples === undefined ? {} : { examples };
}

function refOf({ $ref, allOf }: Json): Json {
  return { $ref: $ref ?? (allOf as Json[])[0]!['$ref'] };
}

/** What the rules of a DTO say (platform/http/parameters/parameter.ts), as JSON Schema, by the names of its members. */
function rulesOf(dto: Type): Map<string, Json> {
  const rules = new Map<string, Json>();
  for (const { name, propertyName, constraints } of getMetadataStorage().getTargetValidationMetadatas(
    dto,
    '',
    false,
    false,
  )) {
    const [rule] = (constraints ?? []) as [TextRuleRead & { max?: number }];
    if (name === TEXT) rules.set(propertyName, textSchema(rule));
    else if (name === WHOLE_NUMBER)
      rules.set(propertyName, { type: 'integer', minimum: 0, maximum: rule.max });
    else if (name === LIST) rules.set(propertyName, { maxItems: rule.max });
    else if (name === ANY_JSON) rules.set(propertyName, ANY);
    else if (!rules.has(propertyName)) rules.set(propertyName, {});
  }
  return rules;
}

function textSchema({ repeated, ...rule }: TextRuleRead): Json {
  if (repeated) return { type: 'array', items: textSchema(rule) };
  const { max = Infinity, matches, required } = rule;
  const { pattern } = matches ?? {};
  const source = pattern instanceof RegExp ? patternOf(pattern) : undefined;
  return {
    type: 'string',
    ...(required && { minLength: 1 }),
    ...(max !== Infinity && { maxLength: max }),
    ...(source !== undefined && { pattern: source }),
    ...((pattern === UUID || pattern === OWN_UUID.matches.pattern) && { format: 'uuid' }),
  };
}

/** JSON Schema knows no flags. */
function patternOf({ source, flags }: RegExp): string {
  return flags.includes('i') ? source.replaceAll('a-f', 'a-fA-F') : source;
}

/** Headers that routes read, by names in lower case; `Authorization` and `DPoP` are security schemes. */
const HEADER_PARAMETERS: Readonly<Record<string, Json>> = {
  'user-agent': {
    name: 'User-Agent',
    description: 'Stands for `user_agent` if the body has none.',
    schema: { type: 'string' },
  },
  'idempotency-key': {
    name: 'Idempotency-Key',
    description:
      'For 24 hours the same key with the same body gets the first answer again, and nothing is sent twice; with another body it is refused.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
    example: EXAMPLE.idempotencyKey,
  },
  'last-event-id': {
    name: 'Last-Event-ID',
    description: 'The last `id` that was received: the stream goes on after it.',
    schema: { type: 'string' },
  },
};

/** @returns the parameters of a route in its path, its query and its headers */
export function parametersOf(
  path: string,
  { query, headers }: Pick<Source, 'query' | 'headers'>,
  { models, schemas }: { models: ReadonlyMap<string, Type>; schemas: Readonly<Record<string, ObjectSchema>> },
): Json[] {
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => pathParameter(name!)),
    ...queryParameters(query.map((name) => completeSchema(schemas[name]!, models.get(name)))),
    ...headers
      .filter((name) => name in HEADER_PARAMETERS)
      .map((name) => ({ in: 'header', required: false, ...HEADER_PARAMETERS[name] })),
  ];
}

function pathParameter(name: string): Json {
  const common = { name, in: 'path', required: true };
  const schema = { type: 'string' };
  if (name === 'name')
    return { ...common, description: 'Name of the configured provider.', schema, example: 'corp' };
  const { examples, ...known } = FIELDS[name]!;
  const [example] = examples as unknown[];
  return { ...common, description: 'A UUID, in any case.', schema: { ...schema, ...known }, example };
}

/** A parameter is required if all schemas require it; the first schema that has it describes it. */
function queryParameters(all: readonly ObjectSchema[]): Json[] {
  const members = Object.assign({}, ...all.map(({ properties }) => properties).toReversed()) as Record<
    string,
    Json
  >;
  const names = new Set(all.flatMap(({ properties }) => Object.keys(properties!)));
  return [...names].map((name) => {
    const { description, examples, ...schema } = members[name]!;
    const [example] = (examples ?? []) as unknown[];
    const required = all.every((one) => one.required?.includes(name));
    return { name, in: 'query', required, description, schema, example };
  });
}
