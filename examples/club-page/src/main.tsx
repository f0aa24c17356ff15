import { render } from 'preact';
import { App } from './app';
import { finishSignIn } from './session';

/** Why nobody came in, as the provider says it (RFC 6749 §4.1.2.1); null: nothing went wrong. */
const refusal = await finishSignIn().then(
  () => null,
  (error: unknown) => (isRefusal(error) ? error.error : 'failed'),
);
render(<App refusal={refusal} />, document.body);

function isRefusal(error: unknown): error is { error: string } {
  return typeof error === 'object' && error !== null && 'error' in error && typeof error.error === 'string';
}
