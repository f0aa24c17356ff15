/** Something that has to be known, and can perhaps be tried again. */
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
