/** Collects the values of a statement while its text is written. */
export class Values {
  private readonly collected: unknown[] = [];

  /** Adds a value and returns its placeholder: `$1`, `$2` … */
  add(value: unknown): string {
    this.collected.push(value);
    return `$${this.collected.length}`;
  }

  get all(): readonly unknown[] {
    return this.collected;
  }
}
