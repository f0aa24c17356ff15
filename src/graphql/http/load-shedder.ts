import { Injectable } from '@nestjs/common';
import { ServiceUnavailableError } from '../../common/errors.js';

/** The interval of measurements. */
const INTERVAL_MS = 100;
/** An operation is rejected if it would wait longer. A client should rather retry after this time. */
const MAX_WAIT_MS = 500;
/** With at least this many operations in progress, the process works at full speed. */
const BUSY_OPERATIONS = 16;
/** This many operations are always accepted, because so few never wait long. */
const MIN_OPERATIONS = 64;
/** The limit while the speed is not known. */
const MAX_OPERATIONS = 1000;
/** Above this number of rejections per answered operation, rejected requests are not read. */
const OVERLOAD_RATIO = 3;
/** Up to this number of rejections in an interval, reading rejected requests costs almost nothing. */
const FEW_REJECTIONS = 50;

/**
 * Accepts as many operations as can be answered in time (docs/adr/0023). While the process is busy, the
 * number of operations answered in an interval determines the limit, by Little's law.
 */
@Injectable()
export class LoadShedder {
  private underWay = 0;
  private limit = MAX_OPERATIONS;
  /** Milliseconds on a monotonic clock. */
  private intervalBegan = 0;
  private answeredWithin = 0;
  private fewestWithin = 0;
  private rejectedWithin = 0;
  private rejected = 0;
  /** Whether most requests of the last interval were rejected. */
  isOverloaded = false;

  /** Accepts an operation if it can be answered in time. The caller must then call `end`. */
  begin(now: number): boolean {
    this.measure(now);
    if (this.underWay >= this.limit) {
      this.reject();
      return false;
    }
    this.underWay++;
    return true;
  }

  /** Whether to reject a request unread: the limit is reached, and most requests are rejected. */
  rejectsUnread(now: number): boolean {
    this.measure(now);
    if (!this.isOverloaded || this.underWay < this.limit) return false;
    this.reject();
    return true;
  }

  end(): void {
    this.underWay--;
    this.answeredWithin++;
    this.fewestWithin = Math.min(this.fewestWithin, this.underWay);
  }

  /** For metrics: operations in progress, the most of them, and rejections since the start. */
  get state() {
    const { underWay, limit, rejected } = this;
    return { underWay, limit, rejected };
  }

  private reject(): void {
    this.rejected++;
    this.rejectedWithin++;
  }

  private measure(now: number): void {
    const elapsed = now - this.intervalBegan;
    if (elapsed < INTERVAL_MS) return;
    const wasBusy = this.fewestWithin >= BUSY_OPERATIONS;
    this.limit = wasBusy
      ? Math.max(MIN_OPERATIONS, (this.answeredWithin / elapsed) * MAX_WAIT_MS)
      : MAX_OPERATIONS;
    this.isOverloaded = this.rejectedWithin > Math.max(FEW_REJECTIONS, OVERLOAD_RATIO * this.answeredWithin);
    this.intervalBegan = now;
    this.answeredWithin = 0;
    this.rejectedWithin = 0;
    this.fewestWithin = this.underWay;
  }
}

export function overloaded(): ServiceUnavailableError {
  return new ServiceUnavailableError('The service is overloaded: try again in a second');
}
