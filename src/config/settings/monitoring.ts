import { z } from 'zod';
import { hostName } from './service.js';
import { setting, type ValuesOf } from '../setting.js';
import { httpUrl, text, trueOrFalse, wholeNumber, yesOrNo } from '../value-kinds.js';

/** What the service tells of what it does. */
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
  OTEL_SERVICE_NAME: setting(text.default('directory-service'), 'Service name in traces.'),
  OTEL_SDK_DISABLED: setting(yesOrNo, 'Disables traces.'),
};

type MonitoringSettings = ValuesOf<typeof MONITORING_SETTINGS>;

/** How the service tells what it does. */
export interface MonitoringConfig {
  /** Null: text in a terminal, JSON elsewhere. */
  readonly logFormat: 'json' | 'text' | null;
  /** Whether every request is a line of the log. */
  readonly requestLines: boolean;
  readonly metrics: MetricsConfig | null;
  /** Null: no traces are made. */
  readonly traces: { readonly serviceName: string } | null;
}

/** Where `/metrics` answers. */
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
    traces: makesTraces(settings) ? { serviceName: settings.OTEL_SERVICE_NAME } : null,
  };
}

/** What the port of the API answers, the internet may ask: in production metrics have a port of their own, or none. */
function buildMetrics(
  { METRICS_PORT: port, METRICS_HOST }: MonitoringSettings,
  { host, production }: Service,
): MetricsConfig | null {
  if (port !== undefined) return { kind: 'apart', host: METRICS_HOST ?? host, port };
  return production ? null : { kind: 'beside' };
}

/** OpenTelemetry's own default is to send traces to this machine; here nobody does who has not named where to. */
function makesTraces(settings: MonitoringSettings): boolean {
  if (settings.OTEL_SDK_DISABLED) return false;
  const { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, OTEL_TRACES_EXPORTER } = settings;
  const collector = OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? OTEL_EXPORTER_OTLP_ENDPOINT;
  return (OTEL_TRACES_EXPORTER ?? (collector === undefined ? 'none' : 'otlp')) !== 'none';
}
