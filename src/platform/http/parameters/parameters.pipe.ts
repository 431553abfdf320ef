import { Injectable, type ArgumentMetadata, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync, ValidationTypes } from 'class-validator';
import { suggestionFor } from '../../config/settings/invalid-settings.js';
import { OAuthError } from '../../errors/oauth-error.js';
import { isObject } from './json.js';
import { BodyReader, UnreadBody } from './body.js';
import { ANY_JSON, bodyLimitsOf, isKnownOnly, membersOf, speaksOAuth } from './parameter.js';
import { Form, neitherJsonNorForm } from './parse-body.js';

type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];
type Dto = Readonly<Record<string, unknown>>;

interface Shape {
  /** Members; one that is an object has its own DTO. */
  readonly members: readonly {
    readonly name: string;
    readonly isNullable: boolean;
    readonly dto?: Type | undefined;
  }[];
  readonly isOAuth: boolean;
  readonly body: BodyReader;
  readonly accepts: (dto: Dto) => boolean;
}

/**
 * Makes a DTO from a query, JSON body or form, and validates it by its decorators. Other members are ignored,
 * except in a search (KnownOnly). It replaces Nest's ValidationPipe (CONTRIBUTING.md#deviations-from-nestjs):
 * class-transformer drops a nested member `__proto__`, and throws for a `constructor`.
 */
@Injectable()
export class ParametersPipe implements PipeTransform {
  private readonly shapes = new Map<Type, Shape>();

  transform(value: unknown = {}, { metatype, type }: ArgumentMetadata): unknown {
    if (!metatype || (type !== 'body' && type !== 'query')) return value;
    const { members, body } = this.shapeOf(metatype);
    if (members.length === 0) return value;
    if (value instanceof UnreadBody) return value.read(body).then((read) => this.validate(read, metatype));
    return this.validate(value, metatype);
  }

  private validate(value: unknown, metatype: Type): object {
    const { isOAuth, members } = this.shapeOf(metatype);
    if (!isObject(value)) throw neitherJsonNorForm();
    if (!isOAuth && value instanceof Form) {
      throw new OAuthError('invalid_request', 'the body must be a JSON object');
    }
    if (isKnownOnly(metatype)) rejectUnknown(Object.keys(value), namesIn(members));
    return this.read(value, metatype);
  }

  private read(value: Dto, metatype: Type): object {
    const { members, isOAuth, accepts } = this.shapeOf(metatype);
    const dto = new (metatype as Type<Record<string, unknown>>)();
    for (const { name, isNullable, dto: own } of members) {
      const received = Object.hasOwn(value, name) ? value[name] : undefined;
      if (received === null && !isNullable) continue;
      if (received === '' && isOAuth) continue;
      dto[name] = own && isObject(received) ? this.read(received, own) : received;
    }
    if (accepts(dto)) return dto;
    const [error] = validateSync(dto, { stopAtFirstError: true });
    const [message = 'a parameter is invalid'] = Object.values(error?.constraints ?? {});
    throw new OAuthError('invalid_request', message);
  }

  private shapeOf(metatype: Type): Shape {
    let shape = this.shapes.get(metatype);
    if (!shape) {
      const rules = getMetadataStorage().getTargetValidationMetadatas(metatype, '', false, false);
      const nullable = namesOf(rules.filter(({ name }) => name === ANY_JSON));
      const members = namesOf(rules).map((name) => ({
        name,
        isNullable: nullable.includes(name),
        dto: membersOf(metatype, name),
      }));
      const body = new BodyReader(
        bodyLimitsOf(
          metatype,
          rules.map(({ name }) => name),
        ),
      );
      shape = { members, isOAuth: speaksOAuth(metatype), body, accepts: compileRules(rules) };
      this.shapes.set(metatype, shape);
    }
    return shape;
  }
}

/** Characters of the shortest name that is suggested for one with a typing error. */
const SHORTEST = 4;

/** @throws OAuthError `invalid_request`, which does not repeat the name: it may be anything */
function rejectUnknown(names: readonly string[], known: readonly string[]): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const suggestion = suggestionFor(unknown, known, SHORTEST);
  const didYouMean = suggestion === undefined ? '' : ` (did you mean ${suggestion}?)`;
  const problem = `a query parameter is unknown${didYouMean}: use ${known.join(', ')}`;
  throw new OAuthError('invalid_request', problem);
}

function namesIn(members: Shape['members']): string[] {
  return members.map(({ name }) => name);
}

/** Looks up a DTO's validators once; class-validator does so for each object. @returns a check of objects */
export function compileRules(rules: readonly Rule[]): (dto: Dto) => boolean {
  const members = namesOf(rules).map((name) => {
    const own = rules.filter(({ propertyName }) => propertyName === name);
    // `@IsOptional()` is the only condition that parameter.ts uses.
    const checks = own.filter(({ type }) => type !== ValidationTypes.CONDITIONAL_VALIDATION);
    return { name, isOptional: checks.length < own.length, checks: checks.flatMap(checksOf) };
  });
  return (dto) =>
    members.every(({ name, isOptional, checks }) => {
      const value = dto[name];
      const isAbsent = value === undefined || value === null;
      return (isOptional && isAbsent) || checks.every(({ instance }) => instance.validate(value) === true);
    });
}

/** @throws Error for a decorator that is not from parameter.ts: it would not be checked */
function checksOf({ type, constraintCls, propertyName }: Rule) {
  if (type !== ValidationTypes.CUSTOM_VALIDATION) throw new Error(`${propertyName}: use parameter.ts`);
  return getMetadataStorage().getTargetValidatorConstraints(constraintCls);
}

function namesOf(rules: readonly Rule[]): string[] {
  return [...new Set(rules.map(({ propertyName }) => propertyName))];
}
