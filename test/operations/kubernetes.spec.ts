import type { ConfigMap, Secret, Service } from 'kubernetes-types/core/v1.js';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { readdirSync } from 'node:fs';
import { parse } from 'yaml';
import { InvalidSettings } from '../../src/config/settings/invalid-settings.js';
import { loadSettings } from '../../src/config/settings/load-settings.js';
import { settingsTable } from '../../src/config/settings/settings-table.js';
import { manifestsOf, STOP_SECONDS, textOf, version, MadeSecrets } from '../support/deployment-files.js';
import ts from 'typescript';
import { fileURLToPath } from 'node:url';

const FOLDER = 'deploy/kubernetes/';
const names = readdirSync(new URL(`../../${FOLDER}`, import.meta.url)).filter(
  (name) => name !== 'kustomization.yaml',
);
const manifests = names.flatMap((name) => manifestsOf(FOLDER + name));
interface Kinds {
  ConfigMap: ConfigMap;
  Deployment: Deployment;
  Ingress: Ingress;
  NetworkPolicy: NetworkPolicy;
  PodDisruptionBudget: PodDisruptionBudget;
  Secret: Secret;
  Service: Service;
}
const only = <Kind extends keyof Kinds>(kind: Kind): Kinds[Kind] => {
  const found = manifests.filter((manifest) => manifest['kind'] === kind);
  expect(found).toHaveLength(1);
  return found[0] as Kinds[Kind];
};

const deployment = only('Deployment').spec!;
const pod = deployment.template.spec!;
const container = pod.containers[0]!;
const config = only('ConfigMap').data!;
const own = Object.fromEntries((container.env ?? []).map(({ name, value }) => [name, value!]));
/** Upper bound for the seconds from a failure to its consequence, with the defaults of Kubernetes. */
const noticedWithin = ({ periodSeconds = 10, failureThreshold = 3, timeoutSeconds = 1 }): number =>
  periodSeconds * failureThreshold + timeoutSeconds;
/** Time until all nodes and proxies leave a pod out. */
const PROPAGATION_SECONDS = 3;

describe('the manifests for Kubernetes', () => {
  it('are what its types say', () => {
    expect(typeErrors(manifests)).toEqual([]);
  });

  it('are all applied together, but for the example of a Secret', () => {
    const { resources } = parse(textOf(`${FOLDER}kustomization.yaml`)) as { resources: string[] };
    expect([...resources, 'secret.example.yaml'].toSorted()).toEqual(names.toSorted());
    for (const { metadata } of manifests as { metadata: { namespace?: string; name: string } }[])
      expect(metadata).toEqual({ name: 'latchkey', labels: { 'app.kubernetes.io/name': 'latchkey' } });
  });

  it('run the release that docker-compose.yml builds', () => {
    expect(container.image).toBe(`latchkey:${version}`);
  });

  it('fit together: labels, ports, names', () => {
    const labels = { 'app.kubernetes.io/name': 'latchkey' };
    expect(deployment.template.metadata!.labels).toEqual(labels);
    expect(deployment.selector.matchLabels).toEqual(labels);
    expect(pod.topologySpreadConstraints![0]!.labelSelector!.matchLabels).toEqual(labels);
    expect(only('PodDisruptionBudget').spec!.selector!.matchLabels).toEqual(labels);
    expect(only('NetworkPolicy').spec!.podSelector.matchLabels).toEqual(labels);
    const service = only('Service').spec!;
    expect(service.selector).toEqual(labels);

    const ports = Object.fromEntries(
      container.ports!.map(({ name, containerPort }) => [name!, containerPort]),
    );
    expect(ports).toEqual({ http: Number(own['PORT']), metrics: Number(own['METRICS_PORT']) });
    expect(deployment.template.metadata!.annotations!['prometheus.io/port']).toBe(own['METRICS_PORT']);
    expect(service.ports!.map(({ targetPort }) => targetPort)).toEqual(['http']);
    const policy = only('NetworkPolicy').spec!.ingress!;
    expect(policy.map((rule) => rule.ports![0]!.port)).toEqual(Object.keys(ports));
    const backend = only('Ingress').spec!.rules![0]!.http!.paths[0]!.backend.service!;
    expect(backend).toEqual({ name: 'latchkey', port: { name: service.ports![0]!.name } });
    expect(container.envFrom).toEqual([{ configMapRef: { name: 'latchkey' } }]);
    expect(pod.volumes![0]!.secret!.secretName).toBe(only('Secret').metadata!.name);
  });

  it('allow all traffic to the public port, Prometheus alone to the metrics, and all outgoing calls', () => {
    const { policyTypes, ingress } = only('NetworkPolicy').spec!;
    expect(policyTypes).toEqual(['Ingress']);
    const prometheus = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
    };
    expect(ingress).toEqual([
      { ports: [{ port: 'http' }] }, // the kubelet's probes, too
      { ports: [{ port: 'metrics' }], from: [prometheus] },
    ]);
  });

  it('stop an instance in the right order: left out everywhere, then closed, then killed', () => {
    const delay = Number(own['SHUTDOWN_DELAY']);
    expect(delay).toBeGreaterThanOrEqual(noticedWithin(container.readinessProbe!) + PROPAGATION_SECONDS);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(delay + STOP_SECONDS);
    expect(container.lifecycle).toBeUndefined(); // no sleep besides
  });

  it('replace instances without ever having fewer, and allow draining of a node', () => {
    expect(deployment.replicas).toBeGreaterThanOrEqual(2);
    expect(deployment.strategy!.rollingUpdate).toEqual({ maxSurge: 1, maxUnavailable: 0 });
    const { maxUnavailable } = only('PodDisruptionBudget').spec!;
    expect(maxUnavailable).toBe(1);
    expect(maxUnavailable).toBeLessThan(deployment.replicas!);
  });

  it('probe liveness and readiness, each at its own path; a slow start is no failure', () => {
    const { startupProbe, livenessProbe, readinessProbe } = container;
    const paths = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe!.httpGet);
    expect(paths).toEqual(['live', 'live', 'ready'].map((end) => ({ path: `/health/${end}`, port: 'http' })));
    expect(readinessProbe!.timeoutSeconds).toBeGreaterThan(2); // as long as it waits for a slow database
    expect(noticedWithin(livenessProbe!)).toBeGreaterThanOrEqual(30);
    expect(noticedWithin(startupProbe!)).toBeGreaterThanOrEqual(1800);
  });

  it('give a pod no more than it needs', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        runAsGroup: 1000,
        fsGroup: 1000,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    });
    expect(textOf('Dockerfile')).toContain('\nUSER 1000:1000\n');
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.volumes).toEqual([
      { name: 'secrets', secret: { secretName: 'latchkey', defaultMode: 0o440 } },
    ]);
    expect(container.resources!.limits).toEqual({ memory: '512Mi' });
  });

  describe('settings', () => {
    const production = { NODE_ENV: 'production' }; // as the image says
    let made: MadeSecrets;
    beforeAll(() => void (made = new MadeSecrets()));
    afterAll(() => made.remove());

    it('exist', () => {
      const known = new Set(Object.values(settingsTable).map(({ name }): string => name));
      for (const name of [...Object.keys(config), ...Object.keys(own)])
        if (!/^PROVIDERS_MAIN_(URL|CLIENT_ID|CLIENT_SECRET_FILE)$/.test(name))
          expect(known).toContain(name.replace(/_FILE$/, ''));
    });

    it('are accepted in production, with the secrets that deploy/secrets.sh makes', () => {
      const settings = loadSettings(
        { ...production, ...made.environment({ ...config, ...own }) },
        made.directory,
      );
      expect(settings.warnings).toEqual([]);
      expect(settings.shutdownDelay).toBe(10);
    });

    it('are refused with the example of a Secret as it stands', () => {
      const { stringData } = only('Secret');
      const files = Object.values(own).filter((value) => value.startsWith('/run/secrets/latchkey/'));
      expect(new Set(files.map((path) => path.split('/').at(-1)))).toEqual(new Set(Object.keys(stringData!)));
      const example = new MadeSecrets();
      try {
        for (const [name, value] of Object.entries(stringData!)) example.replace(name, () => value);
        const env = { ...production, ...example.environment({ ...config, ...own }) };
        const errors = Array(Object.keys(stringData!).length).fill(expect.any(String));
        expect(() => loadSettings(env, example.directory)).toThrow(
          expect.objectContaining({ name: InvalidSettings.name, errors }),
        );
      } finally {
        example.remove();
      }
    });
  });
});

const FILE = fileURLToPath(new URL('./manifests.ts', import.meta.url));

/**
 * Validates manifests by the types that Kubernetes publishes (npm package kubernetes-types, made from its OpenAPI document): fields
 * that do not exist or are missing, and values of another type. It knows no patterns and no limits.
 *
 * @param parsed manifests
 * @returns a line for each fault
 */
function typeErrors(parsed: readonly Readonly<Record<string, unknown>>[]): string[] {
  const source = parsed
    .map(({ apiVersion, kind, ...rest }) => {
      const [apiRelease, group = 'core'] = String(apiVersion).split('/').toReversed() as [string, string?];
      const type = `import('kubernetes-types/${group.split('.')[0]}/${apiRelease}.js').${String(kind)}`;
      return `({ ${JSON.stringify({ apiVersion, kind, ...rest }).slice(1, -1)} }) satisfies ${type};`;
    })
    .join('\n');
  const options = { noEmit: true, strict: true, skipLibCheck: true, types: [], lib: ['lib.es2023.d.ts'] };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...others) =>
    name === FILE ? ts.createSourceFile(name, source, ts.ScriptTarget.ES2023) : read(name, ...others);
  const program = ts.createProgram(
    [FILE],
    { ...options, module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
    host,
  );
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
