import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { ANY_JSON, TEXT, WHOLE_NUMBER, type TextRuleRead } from '../src/http/parameters/parameter.js';
import { UUID } from '../src/http/parameters/uuid.js';
import { FIELDS } from './fields.js';
import type { Json } from './operation.js';

/** Whatever JSON can say. */
const ANY: Json = {};

interface ObjectSchema extends Json {
  properties?: Record<string, Json>;
  required?: string[];
}

/** A schema as `@nestjs/swagger` made it, with what else is known of its members. */
export function completeSchema(schema: ObjectSchema, type: Type | undefined): Json {
  const rules = type ? rulesOf(type) : new Map<string, Json>();
  const isBody = rules.size > 0;
  const properties = Object.fromEntries(
    Object.entries(schema.properties ?? {}).map(([name, member]) => [
      name,
      isBody
        ? completeMember(member, rules.get(name) === ANY ? ANY : { ...examplesOf(name), ...rules.get(name) })
        : completeMember(member, FIELDS[name] ?? {}),
    ]),
  );
  const required = schema.required?.filter((name) => name in properties);
  return {
    type: 'object',
    ...(required?.length && { required }),
    // What a body has beside is ignored; an answer has nothing beside (http/answer.ts).
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
    merged['type'] = 'string';
    delete merged['pattern']; // says the same
  }
  return merged;
}

/** Of what else a field is, the rules of a body speak. */
function examplesOf(name: string): Json {
  const { examples } = FIELDS[name] ?? {};
  return examples === undefined ? {} : { examples };
}

function refOf({ $ref, allOf }: Json): Json {
  return { $ref: $ref ?? (allOf as Json[])[0]!['$ref'] };
}

/** Clauses of documents that readers of this one do not have. */
function withoutCitations(text: string): string {
  const words = text
    .replace(/\s+/g, ' ')
    .replace(/ \((?:contract|spec) §[^)]*\)/g, '')
    .replaceAll('PUBLIC_URL', 'the service’s address');
  return words[0]!.toUpperCase() + words.slice(1);
}

/** What the rules of a DTO say (http/parameters/parameter.ts), as JSON Schema, by the names of its members. */
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
    else if (name === ANY_JSON) rules.set(propertyName, ANY);
    else if (!rules.has(propertyName)) rules.set(propertyName, {});
  }
  return rules;
}

function textSchema({ max = Infinity, matches, required }: TextRuleRead): Json {
  const { pattern } = matches ?? {};
  const source = pattern instanceof RegExp ? patternOf(pattern) : undefined;
  return {
    type: 'string',
    ...(required && { minLength: 1 }),
    ...(max !== Infinity && { maxLength: max }),
    ...(source !== undefined && { pattern: source }),
    ...(pattern === UUID && { format: 'uuid' }),
  };
}

/** JSON Schema knows no flags. */
function patternOf({ source, flags }: RegExp): string {
  return flags.includes('i') ? source.replaceAll('a-f', 'a-fA-F') : source;
}
