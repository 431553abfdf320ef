import { getMetadataStorage, ValidationTypes } from 'class-validator';

const { CONDITIONAL_VALIDATION, CUSTOM_VALIDATION } = ValidationTypes;

/** One decorator of one member, as class-validator keeps it. */
export type Rule = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

type Dto = Readonly<Record<string, unknown>>;
type Condition = (dto: Dto, value: unknown) => boolean;

/**
 * The rules of a DTO, looked up once: class-validator looks up, groups and filters them for each object, which for a refresh takes
 * 0.9 µs in a loop, and 0.1 with this (4 and 0.2 in a busy service). They are the same validators, called in the same way.
 *
 * @param rules of one DTO
 * @returns whether class-validator would find nothing. Where it is false, class-validator has to say why, or that all is well: rules
 * of kinds that are not used here are left to it
 */
export function compileRules(rules: readonly Rule[]): (dto: Dto) => boolean {
  if (!rules.every(isUnderstood)) return () => false;
  const names = [...new Set(rules.map(({ propertyName }) => propertyName))];
  const members = names.map((name) => {
    const own = rules.filter(({ propertyName }) => propertyName === name);
    const conditions = own.filter(isCondition).map(({ constraints }) => constraints[0] as Condition);
    return { name, conditions, checks: own.filter((rule) => !isCondition(rule)).flatMap(checksOf) };
  });
  return (dto) =>
    members.every(({ name, conditions, checks }) => {
      const value = dto[name];
      if (!conditions.every((holds) => holds(dto, value))) return true; // @IsOptional(), and it was left out
      return checks.every((holds) => holds(dto, value));
    });
}

/** Not rules about the members of a member. Groups and `validateIf` only make class-validator more lenient. */
function isUnderstood({ type, each }: Rule): boolean {
  return !each && (type === CUSTOM_VALIDATION || type === CONDITIONAL_VALIDATION);
}

function isCondition({ type }: Rule): boolean {
  return type === CONDITIONAL_VALIDATION;
}

function checksOf({ constraintCls, constraints, propertyName: property }: Rule): Condition[] {
  return getMetadataStorage()
    .getTargetValidatorConstraints(constraintCls)
    .map(({ instance }) => (object, value) => {
      const targetName = object.constructor.name;
      return instance.validate(value, { targetName, property, object, value, constraints }) === true; // no promise
    });
}
