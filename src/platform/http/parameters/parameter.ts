import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import { IsOptional, ValidateBy, type ValidationArguments } from 'class-validator';
import type { BodyLimits } from './body.js';
import { hasInexactNumber, isObject } from './json.js';
import { DEEPEST_VALUE } from './parse-body.js';

const OAUTH = 'latchkey:oauth-parameters';
const COMPRESSED = 'latchkey:compressed';
const LIST_OF_BODIES = 'latchkey:list-of-bodies';
const MEMBERS = 'latchkey:members';
const KNOWN_ONLY = 'latchkey:known-only';

// Names of rules in class-validator's storage; the first constraint of a rule is for openapi/.
export const ANY_JSON = 'anyJson';
const ANY_OBJECT = 'anyObject';
export const LIST = 'list';
export const TEXT = 'text';
export const WHOLE_NUMBER = 'wholeNumber';

/** Marks a DTO of OAuth, perhaps sent as a form; an empty parameter counts as absent (RFC 6749 §3.1). */
export const OAuthParameters = (): ClassDecorator => SetMetadata(OAUTH, true);

export function speaksOAuth(dto: Type): boolean {
  return Reflect.hasMetadata(OAUTH, dto);
}

/** Marks a DTO of a body that may be compressed: it comes from a backend, after its authentication. */
export const MayBeCompressed = (): ClassDecorator => SetMetadata(COMPRESSED, true);

/** Marks a DTO whose body is a list of what another call takes: it may be larger, and two levels deeper. */
export const ListOfBodies = (): ClassDecorator => SetMetadata(LIST_OF_BODIES, true);

/** Values of a body without any-JSON members. The largest DTO has 12; unknown members are ignored. */
const MOST_VALUES = 250;

/** Returns the limits of a body (docs/security.md#requests). @param rules names of its members' rules */
export function bodyLimitsOf(dto: Type, rules: readonly (string | undefined)[]): BodyLimits {
  const isList = Reflect.hasMetadata(LIST_OF_BODIES, dto);
  return {
    kibibytes: isList ? 1024 : speaksOAuth(dto) ? 20 : 64,
    ...(isList && { levels: DEEPEST_VALUE + 3 }),
    values: [ANY_JSON, ANY_OBJECT, LIST].some((rule) => rules.includes(rule)) ? Infinity : MOST_VALUES,
    mayBeCompressed: Reflect.hasMetadata(COMPRESSED, dto),
  };
}

/** Marks a search: an unknown parameter is an error, since the answer would look like what was wanted. */
export const KnownOnly = (): ClassDecorator => SetMetadata(KNOWN_ONLY, true);

export function isKnownOnly(dto: Type): boolean {
  return Reflect.hasMetadata(KNOWN_ONLY, dto);
}

export interface TextRule {
  readonly max?: number;
  readonly matches?: { readonly pattern: Pick<RegExp, 'test'>; readonly as: string };
  /** For an opaque value of a third party, which may be white space but not empty. */
  readonly mayBeBlank?: true;
}

/** A rule as openapi/ reads it. */
export type TextRuleRead = Omit<TextRule, 'mayBeBlank'> & {
  readonly required: boolean;
  readonly repeated?: true;
};

/** Requires text: not blank, and storable. */
export function RequiredText(rule: TextRule = {}): PropertyDecorator {
  return text(rule, true);
}

/** Allows text, or nothing. */
export function OptionalText(rule: TextRule = {}): PropertyDecorator {
  return applyDecorators(IsOptional(), text(rule, false));
}

/** Allows text that a query may have several times, or nothing. @public */
export function OptionalTexts(rule: TextRule = {}): PropertyDecorator {
  return applyDecorators(IsOptional(), text(rule, false, true));
}

/** Allows a whole number from 0, or nothing. */
export function OptionalInteger({ max }: { readonly max: number }): PropertyDecorator {
  const isInRange = (value: unknown): boolean =>
    Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;
  return applyDecorators(
    IsOptional(),
    ruleOf(WHOLE_NUMBER, isInRange, `a whole number from 0 to ${max}`, { max }),
  );
}

/** Allows anything: a service that uses the value requires a whole number from 0, or its digits in a form. */
export function UncheckedInteger({ max }: { readonly max: number }): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    ruleOf(WHOLE_NUMBER, () => true, 'a whole number', { max }),
  );
}

/** Requires a list of values of any kind, which a service checks one by one. */
export function RequiredList({ max }: { readonly max: number }): PropertyDecorator {
  const isList = (value: unknown): boolean => Array.isArray(value) && value.length <= max;
  return ruleOf(LIST, isList, `a list of at most ${max}`, { max });
}

/** Allows such a list, or nothing. */
export function OptionalList(rule: { readonly max: number }): PropertyDecorator {
  return applyDecorators(IsOptional(), RequiredList(rule));
}

/** @public */
export function RequiredBoolean(): PropertyDecorator {
  return ruleOf('boolean', (value) => typeof value === 'boolean', 'true or false');
}

/** Allows an object with the members that another DTO declares, or nothing. */
export function OptionalObject(dto: Type): PropertyDecorator {
  // the pipe has made and validated it
  const isMade = ruleOf('object', (value) => value instanceof dto, 'a JSON object');
  return applyDecorators(IsOptional(), isMade, Reflect.metadata(MEMBERS, dto));
}

export function membersOf(dto: Type, name: string): Type | undefined {
  return Reflect.getMetadata(MEMBERS, dto.prototype as object, name) as Type | undefined;
}

/** Requires a JSON object, with any members. @public */
export function AnyObject(): PropertyDecorator {
  return exactRuleOf(ANY_OBJECT, isObject, 'a JSON object');
}

/** Allows a JSON object, with any members, or nothing. @public */
export function OptionalAnyObject(): PropertyDecorator {
  return applyDecorators(IsOptional(), AnyObject());
}

/** Allows any JSON value, also `null` and the empty text, or nothing. */
export function AnyJson(): PropertyDecorator {
  return exactRuleOf(ANY_JSON, () => true, 'any JSON');
}

/** A number that JSON readers round would change in silence, here or at a receiver: it is refused. */
function exactRuleOf(
  name: string,
  validate: (value: unknown) => boolean,
  expected: string,
): PropertyDecorator {
  const rounds = 'must have no number beyond 2^53 - 1, which JSON readers round: send it as text';
  const defaultMessage = ({ property, value }: ValidationArguments): string =>
    `${property} ${validate(value) ? rounds : `must be ${expected}`}`;
  const isExact = (value: unknown): boolean => validate(value) && !hasInexactNumber(value);
  return ValidateBy({
    name,
    constraints: [undefined],
    validator: { validate: isExact, defaultMessage: (args) => defaultMessage(args!) },
  });
}

function ruleOf(
  name: string,
  validate: (value: unknown) => boolean,
  expected: string,
  constraint?: object,
): PropertyDecorator {
  const defaultMessage = (args?: ValidationArguments): string => `${args?.property} must be ${expected}`;
  return ValidateBy({ name, constraints: [constraint], validator: { validate, defaultMessage } });
}

/** One constraint for all rules of a text, since it runs for each parameter of each request. */
function text(
  { max = Infinity, matches, mayBeBlank }: TextRule,
  required: boolean,
  repeated = false,
): PropertyDecorator {
  const content = mayBeBlank ? /[^]/ : /\S/;
  const expected = matches?.as ?? (max === Infinity ? 'text' : `text of at most ${max} characters`);
  const isText = (value: unknown): boolean =>
    typeof value === 'string' &&
    value.isWellFormed() && // PostgreSQL stores neither lone surrogates nor NUL
    !value.includes('\0') &&
    !isLongerThan(value, max) &&
    (!required || content.test(value)) &&
    (!matches || matches.pattern.test(value));
  const rule: TextRuleRead = { max, required, ...(matches && { matches }), ...(repeated && { repeated }) };
  return ValidateBy({
    name: TEXT,
    constraints: [rule],
    validator: {
      validate: (value: unknown) => (repeated && Array.isArray(value) ? value.every(isText) : isText(value)),
      defaultMessage: (args) => {
        if (args?.value === undefined) return `${args?.property} is required`;
        // RFC 6749 §3.1
        const isRepeated = Array.isArray(args.value) && !repeated;
        return `${args.property} must be ${isRepeated ? 'given once' : expected}`;
      },
    },
  });
}

function isLongerThan(value: string, max: number): boolean {
  return value.length > max && (value.length > 2 * max || Array.from(value).length > max);
}
