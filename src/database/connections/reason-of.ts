/** Why a server cannot be used, for the log. Socket errors may have a code but no message. */
export function reasonOf(error: unknown): string {
  const { message = '', code } = error as { message?: string; code?: string };
  return message === '' ? (code ?? 'no answer') : message;
}
