import { getMetadataStorage, validateSync, ValidateNested } from 'class-validator';
import { AuthorizeDto } from '../../../auth/authorize.dto.js';
import { TokenDto, RefreshDto } from '../../../auth/token.dto.js';
import { PushDto } from '../../../realtime/push/push.dto.js';
import { compileRules } from './parameters.pipe.js';

type Dto = new () => Record<string, unknown>;

class Nested {
  @ValidateNested()
  nested?: unknown;
}

const ID = '4d1c9f3e-8d0c-4f5a-9f0e-0123456789ab';
const TEXTS = ['', ' ', 'a', 'x'.repeat(300), '\0', '\ud800', 'ab.c', ID];
const VALUES: unknown[] = [...TEXTS, undefined, null, 0, -1, 1.5, NaN, 86_400, true, {}, [], ['a']];

describe('compiled rules', () => {
  const rulesOf = (dto: Dto) => getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);

  it.each<[Dto, object]>([
    [AuthorizeDto as unknown as Dto, { provider: 'a', code_challenge: 'x'.repeat(43) }],
    [RefreshDto as unknown as Dto, { refresh_token: 'a' }],
    [TokenDto as unknown as Dto, { code: 'a', state: '0'.repeat(64), device_id: ID, user_agent: 'b' }],
    [PushDto as unknown as Dto, { user_id: ID, event: 'x', data: { a: 1 }, ttl: 1 }],
  ])('of %p accept what class-validator accepts', (dto, good) => {
    const accepts = compileRules(rulesOf(dto));
    const names = [...new Set(rulesOf(dto).map(({ propertyName }) => propertyName))];
    const results = new Set<boolean>();
    const objects = names.flatMap((name) =>
      VALUES.map((value) => Object.assign(new dto(), good, { [name]: value })),
    );
    for (const object of objects) {
      const isAccepted = validateSync(object).length === 0;
      expect([object, accepts(object)]).toEqual([object, isAccepted]);
      results.add(isAccepted);
    }
    expect(results.size).toBe(2);
  });

  it('refuse decorators that they do not know', () => {
    expect(() => compileRules(rulesOf(Nested as unknown as Dto))).toThrow('nested: use parameter.ts');
  });
});
