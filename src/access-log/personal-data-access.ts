/** What one answer shows of people: names of fields, and never contents. */
export interface Exhibit {
  /** Such as `User.email`, each once. */
  readonly fields: readonly string[];
  /** Of how many people it shows each of these fields, whoever it shows twice counted twice. */
  readonly people: readonly number[];
}
