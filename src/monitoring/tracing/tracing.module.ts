import { Module } from '@nestjs/common';
import { OutgoingSpans } from './outgoing-spans.js';
import { RequestSpans } from './request-spans.js';
import { SynchronizationSpans } from './synchronization-spans.js';
import { Tracing } from './tracing.js';

/** Traces with OpenTelemetry. The module is loaded only where traces are configured. */
@Module({ providers: [Tracing, OutgoingSpans, RequestSpans, SynchronizationSpans] })
export class TracingModule {}
