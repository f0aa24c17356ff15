import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { type MetricFamily, readExpression, readMetricsTable } from '../support/clients/metrics.js';

/** Metrics of Prometheus itself: those of processes and alerts. */
const OF_PROMETHEUS = ['up', 'ALERTS'];
/** Labels of all metrics: those of Prometheus, and that of the service. */
const COMMON_LABELS = ['job', 'instance', 'alertname', 'alertstate', 'service_name'];
/** Columns of a dashboard. */
const WIDTH = 24;

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

interface Panel {
  readonly id: number;
  readonly type: 'row' | 'stat' | 'timeseries';
  readonly title: string;
  readonly description?: string;
  readonly datasource?: { readonly type: string; readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly schemaVersion: number;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
}

// test/http/monitoring.postgres-spec.ts compares the metrics of the page with those of a running service.
const table = readMetricsTable();
const { groups } = parse(readFileSync('deploy/monitoring/alerts.yaml', 'utf8')) as {
  groups: { name: string; rules: Rule[] }[];
};
const rules = groups.flatMap(({ rules: own }) => own);
const dashboard = JSON.parse(readFileSync('deploy/monitoring/dashboard.json', 'utf8')) as Dashboard;
const drawn = dashboard.panels.filter(({ type }) => type !== 'row');

describe('the validation of expressions', () => {
  it('reports invalid ones, unknown metrics, and unknown labels', () => {
    expect(() => readExpression('sum((')).toThrow('no PromQL');
    expect(unknownIn('rate(directory_requests[5m])')).toEqual(['directory_requests']);
    expect(unknownIn('directory_requests_total{status="200"}')).toEqual(['status']);
    expect(unknownIn('sum by (server) (directory_operations)')).toEqual(['server']);
    expect(unknownIn('sum by (le) (rate(directory_request_duration_seconds_bucket[5m]))')).toEqual([]);
  });
});

describe('the alerts', () => {
  it('use existing metrics', () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(rules.filter(({ expr }) => unknownIn(expr).length > 0)).toEqual([]);
  });

  it('have a summary and a remedy, and are all on the page, in its order', () => {
    for (const { labels, annotations } of rules) {
      expect(['critical', 'warning']).toContain(labels.severity);
      expect(annotations.summary).toMatch(/^\S.*[^.]$/);
      expect(annotations.description).toMatch(/^[A-Z«].*\.$/s);
    }
    const named = readFileSync('docs/operations.md', 'utf8').matchAll(/^\| `(Directory\w+)`/gm);
    const listed = [...named].map(([, alert]) => alert);
    expect(listed).toEqual(rules.map(({ alert }) => alert));
  });
});

describe('the dashboard', () => {
  it('uses existing metrics', () => {
    const expressions = drawn.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    expect(expressions.length).toBeGreaterThan(30);
    expect(expressions.filter((expression) => unknownIn(expression).length > 0)).toEqual([]);
  });

  it('is complete: every panel has a position, queries and a description', () => {
    expect(dashboard).toMatchObject({ title: 'Directory service', uid: 'directory-service' });
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(39);
    expect(dashboard.templating.list.map(({ name, type }) => `${name}: ${type}`)).toEqual([
      'datasource: datasource',
      'service_name: query',
    ]);
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { title, description = '', datasource, fieldConfig, targets = [] } of drawn) {
      expect([title, title.length > 0, description.length > 10]).toEqual([title, true, true]);
      expect([title, datasource]).toEqual([title, { type: 'prometheus', uid: '${datasource}' }]);
      expect([title, typeof fieldConfig?.defaults.unit]).toEqual([title, 'string']);
      expect([title, new Set(targets.map(({ refId }) => refId)).size]).toEqual([title, targets.length]);
      expect(targets.length).toBeGreaterThan(0);
    }
  });

  it('has no panel over another, or beyond the right margin', () => {
    const taken = new Set<string>();
    for (const { gridPos } of dashboard.panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(WIDTH);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`)).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});

/** Unknown metrics and labels of an expression. */
function unknownIn(expression: string): string[] {
  const { metrics, groupedBy } = readExpression(expression);
  const known = new Set(COMMON_LABELS);
  const unknown = metrics.flatMap(({ name, labels }) => {
    const own = labelsOf(name);
    if (own === null) return [name];
    for (const label of own) known.add(label);
    return labels.filter((label) => !own.includes(label) && !COMMON_LABELS.includes(label));
  });
  return [...unknown, ...groupedBy.filter((label) => !known.has(label))];
}

/** Null for an unknown metric. */
function labelsOf(name: string): readonly string[] | null {
  if (OF_PROMETHEUS.includes(name)) return [];
  const isIt = (family: MetricFamily) =>
    family.type === 'histogram' ? name === `${family.name}_bucket` : name === family.name;
  const family = table.find(isIt);
  if (family === undefined) return null;
  return [...(family.labels ?? []), ...(family.type === 'histogram' ? ['le'] : [])];
}
