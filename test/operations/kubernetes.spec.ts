import type { ConfigMap, Service } from 'kubernetes-types/core/v1.js';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { loadSettings, SETTING_TABLES } from '../../src/settings.js';
import { parse } from 'yaml';
import { manifestsOf, STOP_SECONDS, textOf, version, MadeSecrets } from '../support/deployment-files.js';
import { typeErrors } from '../support/manifest-types.js';

// Rendered from deploy/helm; test/infra/helm.spec.ts compares.
const manifests = manifestsOf(textOf('deploy/kubernetes/latchkey.yaml'));
interface Kinds {
  ConfigMap: ConfigMap;
  Deployment: Deployment;
  Ingress: Ingress;
  NetworkPolicy: NetworkPolicy;
  PodDisruptionBudget: PodDisruptionBudget;
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

const LABELS = { 'app.kubernetes.io/name': 'latchkey', 'app.kubernetes.io/instance': 'latchkey' };

describe('the manifests for Kubernetes', () => {
  it('are what its types say', () => {
    expect(typeErrors(manifests)).toEqual([]);
  });

  it('are all named alike, in the namespace that one is in', () => {
    for (const { metadata } of manifests as { metadata: { namespace?: string; name: string } }[]) {
      expect(metadata).toMatchObject({ name: 'latchkey', labels: LABELS });
      expect(metadata.namespace).toBeUndefined();
    }
  });

  it('run the release that docker-compose.yml builds', () => {
    const chart = parse(textOf('deploy/helm/Chart.yaml')) as Record<string, unknown>;
    expect(chart).toMatchObject({ version, appVersion: version });
    expect(container.image).toBe(`registry.example/latchkey:${version}`);
  });

  it('fit together: labels, ports, names', () => {
    expect(deployment.template.metadata!.labels).toEqual(LABELS);
    expect(deployment.selector.matchLabels).toEqual(LABELS);
    expect(pod.topologySpreadConstraints![0]!.labelSelector!.matchLabels).toEqual(LABELS);
    expect(only('PodDisruptionBudget').spec!.selector!.matchLabels).toEqual(LABELS);
    expect(only('NetworkPolicy').spec!.podSelector.matchLabels).toEqual(LABELS);
    const service = only('Service').spec!;
    expect(service.selector).toEqual(LABELS);

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
      const known = new Set(Object.values(SETTING_TABLES.settings).map(({ name }): string => name));
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
  });
});
