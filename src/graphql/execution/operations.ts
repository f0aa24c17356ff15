import { Injectable } from '@nestjs/common';
import type { FormattedExecutionResult } from 'graphql';
import { AccessLog } from '../../access-log/access-log.js';
import type { Exhibit } from '../../access-log/personal-data-access.js';
import type { Admitted } from '../analysis/operation-validator.js';
import { Answers, minuteOf } from '../cache/response-cache.js';
import { formatError } from '../errors/error-response.js';
import { type Execution, Executor } from './executor.js';
import { type FlightName, Flights } from '../cache/single-flight.js';
import { exhibitOf } from '../analysis/personal-data-selection.js';
import { Staleness } from '../../database/staleness.js';
import type { RequestContext } from '../http/request-context.js';

/** Answers admitted operations, and remembers the answers. */
@Injectable()
export class Operations {
  constructor(
    private readonly executor: Executor,
    private readonly answers: Answers,
    private readonly flights: Flights,
    private readonly accessLog: AccessLog,
    private readonly staleness: Staleness,
  ) {}

  /** The answer as the client sees it; `errors` first, where there are any, and `extensions` last. */
  async answer(
    admitted: Admitted,
    execution: Execution,
    context: RequestContext,
  ): Promise<FormattedExecutionResult> {
    const minute = minuteOf(new Date());
    const before = this.staleness.asOf;
    const { result, isOwn } = await this.flights.share(this.nameOf(context, admitted, minute), async () => {
      const executed = await this.executor.execute(admitted, execution, context);
      return { executed, revisions: context.revisions };
    });
    const [revision = null] = result.revisions;
    context.request.mirrorRead = revision === null ? null : await this.staleness.describe(revision, before);
    const { data = null, errors } = result.executed;
    const exhibit = admitted.footprint === null ? null : exhibitOf(admitted.footprint, data);
    if (exhibit !== null && context.principal !== null) this.accessLog.note(context.principal, exhibit);
    const extensions = admitted.deprecated === null ? null : { deprecations: admitted.deprecated.uses };
    if (errors !== undefined) {
      const formatted = errors.map((error) => formatError(error.toJSON(), error, context.requestId));
      return extensions === null ? { errors: formatted, data } : { errors: formatted, data, extensions };
    }
    if (isOwn) this.remember(context, admitted, minute, exhibit);
    return extensions === null ? { data } : { data, extensions };
  }

  /** The same for all whose answer is the same; null: it may be another one each time. */
  private nameOf(
    { request: { question } }: RequestContext,
    { dependences }: Admitted,
    minute: number,
  ): FlightName | null {
    return question === null || dependences === null
      ? null
      : this.answers.nameOf(question, dependences, minute);
  }

  /** An answer is kept as it is sent, if all of it is of one revision and its URLs are of one minute. */
  private remember(
    { request, revisions }: RequestContext,
    { dependences, measure, deprecated }: Admitted,
    begun: number,
    exhibit: Exhibit | null,
  ): void {
    const { question } = request;
    const [revision = null, ...others] = revisions;
    if (question === null || dependences === null || others.length > 0) return;
    const minute = dependences.has('minute') ? begun : null;
    if (minute !== null && minute !== minuteOf(new Date())) return;
    if (!this.answers.isWorthKeeping(question, dependences)) return;
    request.keep = (body, contentType) => {
      const headers = deprecated?.headers ?? null;
      const { operation } = request;
      const answer = { body, contentType, headers, measure, minute, exhibit, operation, revision };
      this.answers.keep(question, answer, dependences, revision);
    };
  }
}
