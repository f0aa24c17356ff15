import { Injectable } from '@nestjs/common';
import type { FormattedExecutionResult } from 'graphql';
import { AccessLog } from '../../access-log/access-log.js';
import type { PersonalDataAccess } from '../../access-log/personal-data-access.js';
import { Staleness } from '../../database/staleness.js';
import type { ValidatedOperation } from '../analysis/operation-validator.js';
import { ResponseCache, minuteOf } from '../cache/response-cache.js';
import { formatError } from '../errors/error-response.js';
import { type Execution, Executor } from './executor.js';
import { type FlightKey, SingleFlight } from '../cache/single-flight.js';
import { personalDataAccessOf } from '../analysis/personal-data-selection.js';
import type { RequestContext } from '../http/request-context.js';

/** Answers admitted operations, and remembers the answers. */
@Injectable()
export class Operations {
  constructor(
    private readonly executor: Executor,
    private readonly answers: ResponseCache,
    private readonly flights: SingleFlight,
    private readonly accessLog: AccessLog,
    private readonly staleness: Staleness,
  ) {}

  /** The answer as the client sees it; `errors` first, where there are any, and `extensions` last. */
  async answer(
    admitted: ValidatedOperation,
    execution: Execution,
    context: RequestContext,
  ): Promise<FormattedExecutionResult> {
    const minute = minuteOf(new Date());
    const before = this.staleness.asOf;
    const { result, isOwn } = await this.flights.run(this.nameOf(context, admitted, minute), async () => {
      const executed = await this.executor.execute(admitted, execution, context);
      return { executed, revisions: context.revisions };
    });
    const [revision = null] = result.revisions;
    context.request.mirrorRead = revision === null ? null : await this.staleness.describe(revision, before);
    const { data = null, errors } = result.executed;
    const access = admitted.personalData === null ? null : personalDataAccessOf(admitted.personalData, data);
    if (access !== null && context.principal !== null) this.accessLog.note(context.principal, access);
    const extensions = admitted.deprecated === null ? null : { deprecations: admitted.deprecated.uses };
    if (errors !== undefined) {
      const formatted = errors.map((error) => formatError(error.toJSON(), error, context.requestId));
      return extensions === null ? { errors: formatted, data } : { errors: formatted, data, extensions };
    }
    if (isOwn) this.remember(context, admitted, minute, access);
    return extensions === null ? { data } : { data, extensions };
  }

  /** The same for all whose answer is the same; null: it may be another one each time. */
  private nameOf(
    { request: { question } }: RequestContext,
    { cacheDependencies }: ValidatedOperation,
    minute: number,
  ): FlightKey | null {
    return question === null || cacheDependencies === null
      ? null
      : this.answers.nameOf(question, cacheDependencies, minute);
  }

  /** An answer is kept as it is sent, if all of it is of one revision and its URLs are of one minute. */
  private remember(
    { request, revisions }: RequestContext,
    { cacheDependencies, cost, deprecated }: ValidatedOperation,
    begun: number,
    access: PersonalDataAccess | null,
  ): void {
    const { question } = request;
    const [revision = null, ...others] = revisions;
    if (question === null || cacheDependencies === null || others.length > 0) return;
    const minute = cacheDependencies.has('minute') ? begun : null;
    if (minute !== null && minute !== minuteOf(new Date())) return;
    if (!this.answers.isWorthKeeping(question, cacheDependencies)) return;
    request.keep = (body, contentType) => {
      const headers = deprecated?.headers ?? null;
      const { operation } = request;
      const answer = { body, contentType, headers, cost, minute, access, operation, revision };
      this.answers.keep(question, answer, cacheDependencies, revision);
    };
  }
}
