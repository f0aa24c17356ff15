import { Values, type Writer } from '../../database/statements/statement.js';

/** Collects statements that write different rows and do not read what the others write, to run them as one. */
export class CombinedWrites {
  private values = new Values();
  private statements: string[] = [];

  constructor(private readonly writer: Writer) {}

  /** @param statementOf returns a statement without a result; it adds its values */
  add(statementOf: (values: Values) => string): void {
    this.statements.push(statementOf(this.values));
  }

  async run(): Promise<void> {
    const { statements, values, writer } = this;
    this.statements = [];
    this.values = new Values();
    const parts = statements.map((text, index) => `write_${index} as (${text})`);
    if (parts.length > 0) await writer.query(`with ${parts.join(', ')} select`, [...values.all]);
  }
}
