import { bodyLimitsOf } from '../../src/platform/http/parameters/parameter.js';
import { PushBatchDto } from '../../src/realtime/push/push-batch.dto.js';
import { PushDto } from '../../src/realtime/push/push.dto.js';
import { textOf } from '../support/deployment-files.js';

const KIBIBYTES = { k: 1, m: 1024, KiB: 1, MiB: 1024 } as const;
const sizeOf = (text: string): number => {
  const [, number, unit] = /^(\d+) ?(k|m|KiB|MiB)$/.exec(text)!;
  return Number(number) * KIBIBYTES[unit as keyof typeof KIBIBYTES];
};
/** KiB of what each pattern finds in a file. */
const found = (file: string, ...patterns: readonly RegExp[]): (number | undefined)[] =>
  patterns.map((pattern) => {
    const size = pattern.exec(textOf(file))?.[1];
    return size === undefined ? undefined : /^\d+$/.test(size) ? Number(size) / 1024 : sizeOf(size);
  });

/** Bodies: of any path, of `/push/batch`, and of a group of a directory. test/infra/proxies.spec.ts sends them. */
const LIMITS = [64, 1024, 4096];

describe('the largest bodies', () => {
  it('of the service', () => {
    expect([PushDto, PushBatchDto].map((dto) => bodyLimitsOf(dto, []).kibibytes)).toEqual(LIMITS.slice(0, 2));
    const reader = /group: new BodyReader\(\{ kibibytes: (\d+),/.exec(
      textOf('src/features/scim/protocol/scim-body.ts'),
    );
    expect(Number(reader![1])).toBe(LIMITS[2]);
  });

  it.each([
    [
      'docs/security.md',
      [/^\| body +\| (\d+ KiB)/m, /`\/push\/batch`: (\d+ MiB)/, /directories\]\(directory\.md\): (\d+ MiB)/],
    ],
    [
      'docs/production.md',
      [/are at most (\d+ KiB)/, /`\/push\/batch`\s+(\d+ MiB)/, /`\/scim\/v2\/` (\d+ MiB)/],
    ],
    [
      'deploy/nginx-latchkey.conf',
      [
        /^client_max_body_size (\w+);/m,
        /^location = \/push\/batch \{\s+client_max_body_size (\w+);/m,
        /^location \/scim\/v2\/ \{\s+client_max_body_size (\w+);/m,
      ],
    ],
    [
      'deploy/haproxy.cfg',
      [
        /!batch !directory \{ req\.hdr_val\(content-length\) gt (\d+) \}/,
        / if batch \{ req\.hdr_val\(content-length\) gt (\d+) \}/,
        / if directory \{ req\.hdr_val\(content-length\) gt (\d+) \}/,
      ],
    ],
  ])('%s has the same', (file, patterns) => expect(found(file, ...patterns)).toEqual(LIMITS));

  it.each(['deploy/helm/values.yaml', 'deploy/kubernetes/latchkey.yaml'])('%s lets all pass', (file) => {
    expect(found(file, /proxy-body-size: (\w+)/)).toEqual([LIMITS[2]]);
  });

  it('docs/directory.md names that of a group', () => {
    expect(found('docs/directory.md', /^\| body +\| 1 MiB; (\d+ MiB) for PUT and POST of a group/m)).toEqual([
      4096,
    ]);
  });
});
