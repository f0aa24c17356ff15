import { Extensions } from '@nestjs/graphql';

/**
 * Declares personal data: a type with all its fields, in whichever module they are declared, or one field. The access log
 * counts who reads it (SECURITY.md).
 */
export function Personal(): ClassDecorator & MethodDecorator & PropertyDecorator {
  return Extensions({ personal: true });
}

/** Whether a type or a field is declared so. */
export function isPersonal({ extensions }: { extensions: Readonly<Record<string, unknown>> }): boolean {
  return extensions['personal'] === true;
}

/** The personal data in one response: names of fields, and never values. */
export interface PersonalDataAccess {
  /** Fields such as `User.email`, each once. */
  readonly fields: readonly string[];
  /** The number of users in the response, for each of these fields. A user that occurs twice counts twice. */
  readonly users: readonly number[];
}
