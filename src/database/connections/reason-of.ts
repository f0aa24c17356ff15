/** Why a server cannot be used, for the log: the errors of sockets may have a code and no message. */
export function reasonOf(error: unknown): string {
  const { message = '', code } = error as { message?: string; code?: string };
  return message === '' ? (code ?? 'no answer') : message;
}
