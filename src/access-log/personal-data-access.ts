/** The personal data in one response: names of fields, and never values. */
export interface PersonalDataAccess {
  /** Fields such as `User.email`, each once. */
  readonly fields: readonly string[];
  /** The number of users in the response, for each of these fields. A user that occurs twice counts twice. */
  readonly people: readonly number[];
}
