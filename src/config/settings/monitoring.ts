import { z } from 'zod';
import { hostName } from './service.js';
import { setting, type ValuesOf } from '../setting.js';
import { httpUrl, text, trueOrFalse, wholeNumber, yesOrNo } from '../value-kinds.js';

export const MONITORING_SETTINGS = {
  LOG_FORMAT: setting(
    z.enum(['json', 'text'], { error: 'must be json or text' }).optional(),
    'Log format: json or text. Default: text in a terminal, json otherwise.',
  ),
  LOG_REQUESTS: setting(trueOrFalse.default(true), 'Writes one log line for each request, at the level log.'),
  METRICS_PORT: setting(
    wholeNumber(1, 65_535).optional(),
    'Separate port for /metrics. Default: PORT, in production no metrics.',
  ),
  METRICS_HOST: setting(hostName.optional(), 'Address to listen on for METRICS_PORT. Default: HOST.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    httpUrl.optional(),
    'OTLP collector for traces. The OpenTelemetry SDK reads its other variables. Empty: no traces.',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    httpUrl.optional(),
    'OTLP endpoint for traces with its full path. Overrides OTEL_EXPORTER_OTLP_ENDPOINT.',
  ),
  OTEL_TRACES_EXPORTER: setting(
    text.optional(),
    'Trace exporter: otlp, console or none. Default: otlp if a collector is set.',
  ),
  OTEL_SERVICE_NAME: setting(
    text.default('directory-service'),
    'Name of the service in traces, and in the label service_name of all metrics. Each installation needs its own.',
  ),
  OTEL_SDK_DISABLED: setting(yesOrNo, 'Disables traces.'),
};

type MonitoringSettings = ValuesOf<typeof MONITORING_SETTINGS>;

export interface MonitoringConfig {
  /** Null: text in a terminal, JSON elsewhere. */
  readonly logFormat: 'json' | 'text' | null;
  /** Whether the log has a line for every request. */
  readonly requestLines: boolean;
  readonly metrics: MetricsConfig | null;
  /** The label `service_name` of metrics, which distinguishes installations. */
  readonly serviceName: string;
  /** Null: the service creates no traces. */
  readonly traces: { readonly serviceName: string } | null;
}

/** Where `/metrics` is served: `beside` is the port of the API, `apart` a separate port. */
export type MetricsConfig =
  { readonly kind: 'beside' } | { readonly kind: 'apart'; readonly host: string; readonly port: number };

interface Service {
  readonly host: string;
  readonly production: boolean;
}

export function buildMonitoring(settings: MonitoringSettings, service: Service): MonitoringConfig {
  return {
    logFormat: settings.LOG_FORMAT ?? null,
    requestLines: settings.LOG_REQUESTS,
    metrics: buildMetrics(settings, service),
    serviceName: settings.OTEL_SERVICE_NAME,
    traces: makesTraces(settings) ? { serviceName: settings.OTEL_SERVICE_NAME } : null,
  };
}

/** In production, metrics have a separate port or are off, because the port of the API may be reachable from the internet. */
function buildMetrics(
  { METRICS_PORT: port, METRICS_HOST }: MonitoringSettings,
  { host, production }: Service,
): MetricsConfig | null {
  if (port !== undefined) return { kind: 'apart', host: METRICS_HOST ?? host, port };
  return production ? null : { kind: 'beside' };
}

/** OpenTelemetry would send traces to the local machine by default. This service sends none without an endpoint. */
function makesTraces(settings: MonitoringSettings): boolean {
  if (settings.OTEL_SDK_DISABLED) return false;
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_TRACES_EXPORTER } = settings;
  const collector = OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? OTEL_EXPORTER_OTLP_ENDPOINT;
  return (OTEL_TRACES_EXPORTER ?? (collector === undefined ? 'none' : 'otlp')) !== 'none';
}
