import { Extensions } from '@nestjs/graphql';

/**
 * Declares what is about a person: a type, and with it every field that it has in whichever room, or one field. Whoever is
 * shown it is counted in the access log (docs/privacy.md).
 */
export function Personal(): ClassDecorator & MethodDecorator & PropertyDecorator {
  return Extensions({ personal: true });
}

/** Whether a type or a field was declared so. */
export function isPersonal({ extensions }: { extensions: Readonly<Record<string, unknown>> }): boolean {
  return extensions['personal'] === true;
}
