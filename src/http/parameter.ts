import { applyDecorators } from '@nestjs/common';
import { IsOptional, ValidateBy } from 'class-validator';

interface TextRule {
  /** In characters. */
  readonly max?: number;
  readonly matches?: { readonly pattern: RegExp; readonly as: string };
}

/** A parameter that must be there: text, not blank, storable (contract §3, input). */
export function Required(rule: TextRule = {}): PropertyDecorator {
  return text(rule, true);
}

/** A parameter that may be left out; empty and `null` are left out, too (see parameters.pipe.ts). */
export function Optional(rule: TextRule = {}): PropertyDecorator {
  return applyDecorators(IsOptional(), text(rule, false));
}

/** One class-validator constraint for all rules of a text: it stands on the hot path. */
function text({ max = Infinity, matches }: TextRule, required: boolean): PropertyDecorator {
  const wanted = matches?.as ?? (max === Infinity ? 'text' : `text of at most ${max} characters`);
  return ValidateBy({
    name: 'text',
    validator: {
      validate: (value: unknown) =>
        typeof value === 'string' &&
        value.isWellFormed() && // PostgreSQL stores neither lone surrogates nor NUL
        !value.includes('\0') &&
        !isLongerThan(value, max) &&
        (!required || /\S/.test(value)) &&
        (!matches || matches.pattern.test(value)),
      defaultMessage: (args) =>
        args?.value === undefined ? `${args?.property} is required` : `${args.property} must be ${wanted}`,
    },
  });
}

function isLongerThan(value: string, max: number): boolean {
  return value.length > max && (value.length > 2 * max || Array.from(value).length > max);
}
