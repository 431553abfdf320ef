import { Injectable, type ArgumentMetadata, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync, ValidationTypes } from 'class-validator';
import { OAuthError } from '../../errors/oauth-error.js';
import { Form, neitherJsonNorForm } from './body.js';
import { ANY_JSON, membersOf, speaksOAuth } from './parameter.js';

/** One decorator of one member in class-validator's storage. */
type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];
type Dto = Readonly<Record<string, unknown>>;

/** What a DTO declares. */
interface Shape {
  readonly names: readonly string[];
  /** Members that may be `null`. */
  readonly nullable: ReadonlySet<string>;
  /** Members that are objects, with their DTOs. */
  readonly objects: ReadonlyMap<string, Type>;
  readonly isOAuth: boolean;
  readonly accepts: (dto: Dto) => boolean;
}

/**
 * Makes a DTO from a query, JSON body or form, and validates it by its class-validator decorators (parameter.ts).
 * Members that the DTO does not declare are ignored; `null` counts as absent (contract §3).
 *
 * It replaces Nest's ValidationPipe, which takes several times as long (docs/benchmark.md). The members are copied without
 * class-transformer, which changes nested data: it drops a member `__proto__`, and throws for a `constructor`.
 */
@Injectable()
export class ParametersPipe implements PipeTransform {
  private readonly shapes = new Map<Type, Shape>();

  transform(value: unknown = {}, { metatype, type }: ArgumentMetadata): unknown {
    if (!metatype || (type !== 'body' && type !== 'query')) return value;
    const { names, isOAuth } = this.shapeOf(metatype);
    if (names.length === 0) return value;
    if (!isObject(value)) throw neitherJsonNorForm();
    if (!isOAuth && value instanceof Form) {
      throw new OAuthError('invalid_request', 'the body must be a JSON object');
    }
    return this.read(value, metatype);
  }

  private read(value: Dto, metatype: Type): object {
    const { names, nullable, objects, isOAuth, accepts } = this.shapeOf(metatype);
    const dto = new (metatype as Type<Record<string, unknown>>)();
    for (const name of names) {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (given === null && !nullable.has(name)) continue;
      if (given === '' && isOAuth) continue;
      const members = objects.get(name);
      dto[name] = members && isObject(given) ? this.read(given, members) : given;
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
      const names = namesOf(rules);
      const objects = names.map((name) => [name, membersOf(metatype, name)] as const);
      shape = {
        names,
        nullable: new Set(namesOf(rules.filter(({ name }) => name === ANY_JSON))),
        objects: new Map(objects.filter((entry): entry is [string, Type] => entry[1] !== undefined)),
        isOAuth: speaksOAuth(metatype),
        accepts: compileRules(rules),
      };
      this.shapes.set(metatype, shape);
    }
    return shape;
  }
}

/**
 * Looks up the validators of a DTO once: class-validator does so for each object (docs/benchmark.md).
 *
 * @returns whether class-validator would accept an object
 */
export function compileRules(rules: readonly Rule[]): (dto: Dto) => boolean {
  const members = namesOf(rules).map((name) => {
    const own = rules.filter(({ propertyName }) => propertyName === name);
    const checks = own.filter((rule) => !isOptional(rule));
    return { name, isOptional: checks.length < own.length, checks: checks.flatMap(checksOf) };
  });
  return (dto) =>
    members.every(({ name, isOptional: mayBeAbsent, checks }) => {
      const value = dto[name];
      return (
        (mayBeAbsent && (value === undefined || value === null)) || checks.every((holds) => holds(value))
      );
    });
}

/** `@IsOptional()` is the only condition that parameter.ts uses. */
function isOptional({ type }: Rule): boolean {
  return type === ValidationTypes.CONDITIONAL_VALIDATION;
}

/** @throws Error for a decorator that is not from parameter.ts: it would not be checked */
function checksOf({ type, constraintCls, propertyName }: Rule): ((value: unknown) => boolean)[] {
  if (type !== ValidationTypes.CUSTOM_VALIDATION) throw new Error(`${propertyName}: use parameter.ts`);
  return getMetadataStorage()
    .getTargetValidatorConstraints(constraintCls)
    .map(
      ({ instance }) =>
        (value) =>
          instance.validate(value) === true,
    );
}

function namesOf(rules: readonly Rule[]): string[] {
  return [...new Set(rules.map(({ propertyName }) => propertyName))];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
