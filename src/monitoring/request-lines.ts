import type { PrincipalKind } from '../auth/principal.js';
import type { OperationLabel } from '../graphql/analysis/operation.js';
import type { Log } from './log.js';

/** A request whose response was sent or whose connection was closed. */
export interface LoggedRequest {
  /** It is safe in JSON: see `chooseRequestId`. */
  readonly id: string;
  readonly method: string;
  /** The declared route, because the actual path may contain any value. */
  readonly route: string;
  readonly status: number;
  readonly milliseconds: number;
  /** Null for requests to other paths than the GraphQL endpoint. */
  readonly operation: LoggedOperation | null;
  readonly traceId: string | undefined;
}

export interface LoggedOperation {
  /** Its names are those of GraphQL, which are safe in JSON. */
  readonly label: OperationLabel | null;
  readonly principal: PrincipalKind | null;
  /** In points. */
  readonly price: number | null;
  readonly statements: number;
}

/**
 * Writes the request lines of the log: docs/operations.md has an example. The text is built here, because pino takes four times as
 * long as all other steps of monitoring (docs/adr/0027).
 */
export class RequestLines {
  /** The time of the last line in milliseconds, and as JSON. */
  private writtenAt = 0;
  private time = '';

  /** @param isDetailed whether lines have all fields */
  constructor(
    private readonly log: Log,
    private readonly isDetailed: boolean,
  ) {}

  write({ id, method, route, status, milliseconds, operation, traceId }: LoggedRequest): void {
    this.log.write(
      `{"level":"info","time":"${this.readTime()}","requestId":"${id}"${this.isDetailed ? `,"method":"${method}"` : ''},` +
        `"route":"${route}","status":${status},"milliseconds":${Math.round(milliseconds * 1000) / 1000}` +
        `${operation === null ? '' : this.textOf(operation)}${traceId === undefined ? '' : `,"traceId":"${traceId}"`},"msg":"request"}\n`,
    );
  }

  private textOf({ label, principal, price, statements }: LoggedOperation): string {
    const field = this.isDetailed ? `,"field":${quoted(label?.field)}` : '';
    const details = this.isDetailed ? `,"statements":${statements}` : '';
    return `,"operation":${quoted(label?.name)}${field},"principal":${quoted(principal)},"price":${price}${details}`;
  }

  /** Many lines are written within a millisecond. */
  private readTime(): string {
    const now = Date.now();
    if (now !== this.writtenAt) {
      this.writtenAt = now;
      this.time = new Date(now).toISOString();
    }
    return this.time;
  }
}

function quoted(name: string | null | undefined): string {
  return name === null || name === undefined ? 'null' : `"${name}"`;
}
