import { render } from 'preact';
import { App } from './app';
import { finishSignIn } from './session';

/** The error code of the provider (RFC 6749 §4.1.2.1), or null. */
const signInError = await finishSignIn().then(
  () => null,
  (error: unknown) => (isOAuthError(error) ? error.error : 'failed'),
);
render(<App signInError={signInError} />, document.body);

function isOAuthError(error: unknown): error is { error: string } {
  return typeof error === 'object' && error !== null && 'error' in error && typeof error.error === 'string';
}
