import { Histogram, Registry } from './prom-client.js';
import { seriesOf } from './http-metrics.js';

it('a series says what the histogram would say', async () => {
  const [one, other] = [new Registry(), new Registry()];
  const made = [one, other].map(
    (registry) =>
      new Histogram({
        name: 'a',
        help: 'b',
        labelNames: ['c', 'd'],
        buckets: [0.1, 1, 5],
        registers: [registry],
      }),
  );
  const labels = [
    { c: '1', d: '2' },
    { d: '1', c: '2' },
  ];
  const series = labels.map((of) => seriesOf(made[0]!, of));
  for (const value of [0, 0.1, 0.1000001, 0.5, 1, 4.9, 5, 5.1, 1e9, 0.05])
    for (const at of [0, 1, 1]) {
      series[at]!(value + at);
      made[1]!.observe(labels[at]!, value + at);
    }
  expect(await one.metrics()).toBe(await other.metrics());
  expect(await one.metrics()).toContain('a_count{d="1",c="2"} 20');
});
