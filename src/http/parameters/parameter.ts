import { applyDecorators, SetMetadata, type Type } from '@nestjs/common';
import { IsOptional, ValidateBy } from 'class-validator';

const OAUTH = 'latchkey:oauth-parameters';
const MEMBERS = 'latchkey:members';
export const ANY_JSON = 'anyJson';

/**
 * The parameters of a DTO are OAuth's: they come in a query, a form or JSON, and an empty one counts as left out (RFC 6749
 * §3.1; contract §3). A DTO without this decorator takes only JSON, and keeps empty text.
 */
export const OAuthParameters = (): ClassDecorator => SetMetadata(OAUTH, true);

export function speaksOAuth(dto: Type): boolean {
  return Reflect.hasMetadata(OAUTH, dto);
}

/** The names under which class-validator keeps the rules below; each has its rule as the first constraint, to be read. */
export const TEXT = 'text';
export const WHOLE_NUMBER = 'wholeNumber';

export interface TextRule {
  /** In characters. */
  readonly max?: number;
  readonly matches?: { readonly pattern: Pick<RegExp, 'test'>; readonly as: string };
  /** For a text of somebody else's that is compared as it is, of which white space may be all. Not empty, though. */
  readonly mayBeBlank?: true;
}

/** As a document of the parameters reads it. */
export type TextRuleRead = Omit<TextRule, 'mayBeBlank'> & { readonly required: boolean };

/** A parameter that must be there: text, not blank, storable (contract §3, input). */
export function RequiredText(rule: TextRule = {}): PropertyDecorator {
  return text(rule, true);
}

/** A parameter that may be left out; `null` is left out, too (see parameters.pipe.ts). */
export function OptionalText(rule: TextRule = {}): PropertyDecorator {
  return applyDecorators(IsOptional(), text(rule, false));
}

/** A whole number from 0 that may be left out. */
export function OptionalInteger({ max }: { readonly max: number }): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    ValidateBy({
      name: WHOLE_NUMBER,
      constraints: [{ max }],
      validator: {
        validate: (value: unknown) =>
          Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max,
        defaultMessage: (args) => `${args?.property} must be a whole number from 0 to ${max}`,
      },
    }),
  );
}

/** An object that may be left out, with the members that another DTO declares. */
export function OptionalObject(dto: Type): PropertyDecorator {
  const isObject = ValidateBy({
    name: 'object',
    validator: {
      validate: (value: unknown) => value instanceof dto, // as the pipe makes it, which has checked its members
      defaultMessage: (args) => `${args?.property} must be a JSON object`,
    },
  });
  const declare = (target: object, property: string | symbol): void => {
    Reflect.defineMetadata(MEMBERS, dto, target, property);
  };
  return applyDecorators(IsOptional(), isObject, declare);
}

/** The DTO that declares the members of an object parameter; undefined for all other parameters. */
export function membersOf(dto: Type, name: string): Type | undefined {
  return Reflect.getMetadata(MEMBERS, dto.prototype as object, name) as Type | undefined;
}

/** Any JSON value, also `null` and the empty text; may be left out. */
export function AnyJson(): PropertyDecorator {
  return ValidateBy({ name: ANY_JSON, validator: { validate: () => true } });
}

/** One class-validator constraint for all rules of a text: it is on the hot path. */
function text({ max = Infinity, matches, mayBeBlank }: TextRule, required: boolean): PropertyDecorator {
  const content = mayBeBlank ? /[^]/ : /\S/;
  const wanted = matches?.as ?? (max === Infinity ? 'text' : `text of at most ${max} characters`);
  return ValidateBy({
    name: TEXT,
    constraints: [{ max, required, ...(matches && { matches }) } satisfies TextRuleRead],
    validator: {
      validate: (value: unknown) =>
        typeof value === 'string' &&
        value.isWellFormed() && // PostgreSQL stores neither lone surrogates nor NUL
        !value.includes('\0') &&
        !isLongerThan(value, max) &&
        (!required || content.test(value)) &&
        (!matches || matches.pattern.test(value)),
      defaultMessage: (args) => {
        if (args?.value === undefined) return `${args?.property} is required`;
        return `${args.property} must be ${Array.isArray(args.value) ? 'given once' : wanted}`; // RFC 6749 §3.1
      },
    },
  });
}

function isLongerThan(value: string, max: number): boolean {
  return value.length > max && (value.length > 2 * max || Array.from(value).length > max);
}
