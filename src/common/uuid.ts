const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text is a UUID in lower case with dashes, the form of PostgreSQL (RFC 9562 §4). */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}
