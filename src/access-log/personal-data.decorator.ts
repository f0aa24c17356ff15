import { Extensions } from '@nestjs/graphql';

/**
 * Declares personal data: a type with all its fields, in whichever module they are declared, or one field. The access log
 * counts who reads it (docs/security.md).
 */
export function Personal(): ClassDecorator & MethodDecorator & PropertyDecorator {
  return Extensions({ personal: true });
}

/** Whether a type or a field is declared so. */
export function isPersonal({ extensions }: { extensions: Readonly<Record<string, unknown>> }): boolean {
  return extensions['personal'] === true;
}
