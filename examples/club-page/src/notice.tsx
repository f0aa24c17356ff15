/** A message, with a button to retry if it is an error that may be temporary. */
export function Notice({ text, onRetry }: { text: string; onRetry?: () => void }) {
  return (
    <div class="notice" role="alert">
      <p>{text}</p>
      {onRetry !== undefined && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
