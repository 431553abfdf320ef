import {
  ArrayNotEmpty,
  getMetadataStorage,
  IsDefined,
  IsNotEmpty,
  IsOptional,
  IsString,
  Length,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  validateSync,
} from 'class-validator';
import { AuthorizeDto } from '../../auth/authorize.dto.js';
import { TokenDto, RefreshDto } from '../../auth/token.dto.js';
import { PushDto } from '../../realtime/push/push.dto.js';
import { compileRules } from './parameters.pipe.js';

type Dto = new () => Record<string, unknown>;

/** Rules of kinds that the service's own parameters do not use. */
class Each {
  @IsNotEmpty({ each: true })
  each?: unknown;
}
class Grouped {
  @IsString({ groups: ['a'] })
  grouped?: unknown;
}
class Nested {
  @ValidateNested()
  nested?: unknown;
}
class Sometimes {
  @ValidateIf((dto: Sometimes) => dto.kind === 'text')
  @Length(2, 3)
  @IsString()
  text?: unknown;
  @IsOptional()
  @ArrayNotEmpty()
  list?: unknown;
  @IsDefined()
  kind?: unknown;
}
class Later {
  @ValidateBy({ name: 'later', validator: { validate: () => Promise.resolve(false) } })
  later?: unknown;
}

function compiled(dto: Dto): (object: Record<string, unknown>) => boolean {
  return compileRules(getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false));
}

const VALUES: unknown[] = [
  undefined,
  null,
  '',
  ' ',
  'a',
  'x'.repeat(300),
  '\0',
  '\ud800',
  'ab.c',
  0,
  -1,
  1.5,
  NaN,
  86_400,
  true,
  {},
  [],
  ['a'],
  [''],
  { constructor: 1 },
  '4d1c9f3e-8d0c-4f5a-9f0e-0123456789ab',
];

describe('compiled rules', () => {
  const id = '4d1c9f3e-8d0c-4f5a-9f0e-0123456789ab';
  it.each<[Dto, object]>([
    [AuthorizeDto as unknown as Dto, { provider: 'a', code_challenge: 'x'.repeat(43) }],
    [RefreshDto as unknown as Dto, { refresh_token: 'a' }],
    [TokenDto as unknown as Dto, { code: 'a', state: '0'.repeat(64), device_id: id, user_agent: 'b' }],
    [PushDto as unknown as Dto, { user_id: id, event: 'x', data: { a: 1 }, ttl: 1 }],
  ])('of %p say what class-validator says', (dto, good) => {
    const accepts = compiled(dto);
    const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
    const names = [...new Set(rules.map(({ propertyName }) => propertyName))];
    const counts = { accepted: 0, refused: 0 };
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let i = 0; i < 500; i++) {
      const object: Record<string, unknown> = Object.assign(new dto(), good);
      for (let changes = random(3); changes > 0; changes--)
        object[names[random(names.length)]!] = VALUES[random(VALUES.length)];
      const finds = validateSync(object, { stopAtFirstError: true });
      if (accepts(object) !== (finds.length === 0)) expect([object, accepts(object)]).toBe(finds);
      counts[finds.length === 0 ? 'accepted' : 'refused']++;
    }
    expect(Math.min(counts.accepted, counts.refused)).toBeGreaterThan(100);
  });

  it.each([Each, Grouped, Nested, Sometimes, Later] as unknown as Dto[])(
    'accept nothing that %p does not',
    (dto) => {
      const accepts = compiled(dto);
      for (const value of VALUES)
        for (const kind of ['text', undefined]) {
          const object = Object.assign(new dto(), {
            each: value,
            grouped: value,
            text: value,
            list: value,
            kind,
          });
          if (accepts(object)) expect(validateSync(object)).toEqual([]);
        }
      expect(
        accepts(
          Object.assign(new dto(), {
            each: [''],
            grouped: 1,
            nested: new Each(),
            text: 1,
            kind: 'text',
            later: 1,
          }),
        ),
      ).toBe(false);
    },
  );
});
