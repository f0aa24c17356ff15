import { Injectable } from '@nestjs/common';

/** Milliseconds between two looks at how fast the work goes. */
const INTERVAL = 100;
/** Milliseconds of work that may be waiting: whoever comes then would wait for longer than it takes to try again. */
const PATIENCE = 500;
/** Operations of which some wait for others: while there are as many, work is done as fast as it can be. */
const BUSY = 16;
/** Operations that are always taken on: fewer keep nobody waiting for long. */
const FEWEST = 64;
/** And at most, while it is not known how fast the work goes. */
const MOST = 1000;
/** Refusals for each operation that is done, above which to read what is refused costs as much as what is answered. */
const FLOOD = 3;
/** Refusals in an interval up to which reading them costs next to nothing, though hardly anything is answered. */
const TRICKLE = 50;

/**
 * Takes on as many operations as can be answered in time, and no more: one that waits longer than its client does is
 * work for nothing, and keeps the next one waiting. While there is always something to do, what is done in an
 * interval tells how many may be under way (Little's law: as many as are done while one waits).
 */
@Injectable()
export class LoadGate {
  private underWay = 0;
  private most = MOST;
  /** Milliseconds on a clock that is never set. */
  private intervalBegan = 0;
  private doneWithin = 0;
  private fewestWithin = 0;
  private refusedWithin = 0;
  private flooded = false;
  private refused = 0;

  /** Takes on one operation, if it can be done in time: then `end` has to be called. */
  begin(now: number): boolean {
    this.look(now);
    if (this.underWay >= this.most) {
      this.refuse();
      return false;
    }
    this.underWay++;
    return true;
  }

  /** Whether a request is one to be refused before it is read: there is no room, and most of what comes is refused. */
  refusesUnread(now: number): boolean {
    this.look(now);
    if (!this.flooded || this.underWay < this.most) return false;
    this.refuse();
    return true;
  }

  /** Whether most of what came lately was refused. */
  get isFlooded(): boolean {
    return this.flooded;
  }

  /** An operation has been answered, in whichever way. */
  end(): void {
    this.underWay--;
    this.doneWithin++;
    this.fewestWithin = Math.min(this.fewestWithin, this.underWay);
  }

  /** Operations under way, how many may be, and how many were refused since the start. */
  get standing(): { readonly underWay: number; readonly most: number; readonly refused: number } {
    const { underWay, most, refused } = this;
    return { underWay, most, refused };
  }

  private refuse(): void {
    this.refused++;
    this.refusedWithin++;
  }

  private look(now: number): void {
    const elapsed = now - this.intervalBegan;
    if (elapsed < INTERVAL) return;
    const wasBusy = this.fewestWithin >= BUSY;
    this.most = wasBusy ? Math.max(FEWEST, (this.doneWithin / elapsed) * PATIENCE) : MOST;
    this.flooded = this.refusedWithin > Math.max(TRICKLE, FLOOD * this.doneWithin);
    this.intervalBegan = now;
    this.doneWithin = 0;
    this.refusedWithin = 0;
    this.fewestWithin = this.underWay;
  }
}
