import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { ConfigMap } from 'kubernetes-types/core/v1.js';
import type { Ingress } from 'kubernetes-types/networking/v1.js';
import { loadSettings } from '../../src/settings.js';
import { MadeSecrets, manifestsOf, textOf } from '../support/deployment-files.js';
import { isInstalled, needs } from '../support/installed.js';
import { typeErrors } from '../support/manifest-types.js';

const CHART = new URL('../../deploy/helm/', import.meta.url).pathname;
const VALUES = readdirSync(`${CHART}ci`);

function helm(
  command: readonly string[],
  ...options: readonly string[]
): { status: number | null; said: string } {
  const { status, stdout, stderr } = spawnSync('helm', [...command, ...options], {
    cwd: CHART,
    encoding: 'utf8',
  });
  return { status, said: stdout + stderr };
}

// Without a version, Helm from `go install` takes Kubernetes 1.20.
const TEMPLATE = ['template', 'latchkey', '.', '--kube-version', '1.30.0', '--values'];

interface Kinds {
  ConfigMap: ConfigMap;
  Deployment: Deployment;
  HorizontalPodAutoscaler: object;
  Ingress: Ingress;
}
interface Rendered {
  readonly manifests: Record<string, unknown>[];
  /** The one of a kind, if there is one. */
  readonly of: <Kind extends keyof Kinds>(kind: Kind) => Kinds[Kind] | undefined;
}

function rendered(values: string): Rendered {
  const { status, said } = helm(TEMPLATE, `ci/${values}`);
  if (status !== 0) throw new Error(said);
  const manifests = manifestsOf(said);
  const of = (kind: string): unknown => manifests.find((manifest) => manifest['kind'] === kind);
  return { manifests, of: of as Rendered['of'] };
}

needs({ helm: isInstalled('helm') }).describe('the Helm chart', () => {
  let made: MadeSecrets;
  beforeAll(() => void (made = new MadeSecrets()));
  afterAll(() => made.remove());

  describe.each(VALUES)('with %s', (values) => {
    it('passes the checks of Helm', () => {
      const { status, said } = helm(['lint', '--strict', '.', '--values'], `ci/${values}`);
      expect([status, said]).toEqual([0, expect.stringContaining('0 chart(s) failed')]);
    });

    it('renders what the types of Kubernetes say', () => {
      expect(typeErrors(rendered(values).manifests)).toEqual([]);
    });

    it('renders settings that are accepted in production', () => {
      const { of } = rendered(values);
      const [container] = of('Deployment')!.spec!.template.spec!.containers;
      const own = Object.fromEntries(container!.env!.map(({ name, value }) => [name, value!]));
      const env = { ...of('ConfigMap')!.data, ...own };
      const all = { NODE_ENV: 'production', ...made.environment(env) };
      expect(loadSettings(all, made.directory).warnings).toEqual([]);
    });
  });

  it('renders deploy/kubernetes/latchkey.yaml (sh deploy/helm/render.sh)', () => {
    const { said } = helm(TEMPLATE, 'ci/default-values.yaml');
    expect(textOf('deploy/kubernetes/latchkey.yaml').replace(/^(#.*\n)+/, '')).toBe(said);
  });

  it('does what each value says', () => {
    const { of } = rendered('everything-values.yaml');
    expect(of('ConfigMap')!.data).toMatchObject({
      TRUST_PROXY: '2',
      REFRESH_TOKEN_TTL: '2592000',
    });
    const { replicas, template } = of('Deployment')!.spec!;
    expect(replicas).toBeUndefined(); // the autoscaler's
    expect(of('HorizontalPodAutoscaler')).toBeDefined();
    const pod = template.spec!;
    expect(pod.terminationGracePeriodSeconds).toBe(45);
    expect(pod.volumes!.map(({ name }) => name)).toEqual(['secrets', 'ca']);
    const [container] = pod.containers;
    expect(container!.image).toMatch(/^registry\.example\/latchkey@sha256:[0-9a-f]{64}$/);
    expect(container!.ports!.map(({ name }) => name)).toEqual(['http']);
    expect(container!.env!.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['REDIS_URL_FILE', 'NODE_EXTRA_CA_CERTS']),
    );
    const { ingressClassName, tls } = of('Ingress')!.spec!;
    expect([ingressClassName, tls]).toEqual(['nginx', [{ hosts: ['id.example'] }]]);
  });

  it('leaves the user id to OpenShift', () => {
    const { manifests, of } = rendered('openshift-values.yaml');
    expect(of('Deployment')!.spec!.template.spec!.securityContext).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(manifests.map(({ kind }) => kind)).not.toContain('Ingress');
    expect(manifests.map(({ kind }) => kind)).not.toContain('NetworkPolicy');
  });

  it.each([
    ['without an address', 'settings.PUBLIC_URL=null', /'\/settings\/PUBLIC_URL': got null, want string/],
    [
      'with an address that has a path',
      'settings.PUBLIC_URL=https://id.example/sso',
      /does not match pattern/,
    ],
    ['with an unknown value', 'replica=3', /additional properties 'replica' not allowed/],
    ['with a port among the settings', 'settings.PORT=80', /invalid propertyName 'PORT'/],
    ['with a secret among the settings', 'settings.SECRET_KEY=x', /invalid propertyName 'SECRET_KEY'/],
    ['with a digest that is none', 'image.digest=latest', /does not match pattern/],
  ])('is refused %s', (_, change, message) => {
    const { status, said } = helm(TEMPLATE, 'ci/default-values.yaml', '--set', change);
    expect([status, said]).toEqual([1, expect.stringMatching(message)]);
  });
});
