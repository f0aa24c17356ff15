import { z } from 'zod';
import { hostName } from './service.js';
import { setting, type ValuesOf } from '../setting.js';
import { httpUrl, text, trueOrFalse, wholeNumber, yesOrNo } from '../value-kinds.js';

/** What the service tells of what it does. */
export const MONITORING_SETTINGS = {
  LOG_FORMAT: setting(
    z.enum(['json', 'text'], { error: 'must be json or text' }).optional(),
    'How the log is written: json, or text for people. Default: text in a terminal, json elsewhere',
  ),
  LOG_REQUESTS: setting(
    trueOrFalse.default(true),
    'Whether every request is a line of the log, of the kind log',
  ),
  METRICS_PORT: setting(
    wholeNumber(1, 65_535).optional(),
    'Port on which /metrics answers, and nothing else. Default: PORT, and in production none',
  ),
  METRICS_HOST: setting(hostName.optional(), 'Address of that port. Default: HOST'),
  OTEL_EXPORTER_OTLP_ENDPOINT: setting(
    httpUrl.optional(),
    'Collector that traces are sent to; OpenTelemetry reads its other variables itself. Empty: none are made',
  ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: setting(
    httpUrl.optional(),
    'The same for traces alone, with its whole path; it goes before the one above',
  ),
  OTEL_TRACES_EXPORTER: setting(
    text.optional(),
    'How traces are sent: otlp, console, none, … Default: otlp where a collector is named',
  ),
  OTEL_SERVICE_NAME: setting(text.default('directory-service'), 'What the service is called in traces'),
  OTEL_SDK_DISABLED: setting(yesOrNo, 'Makes no traces, whatever else is set'),
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
