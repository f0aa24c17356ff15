import { useState } from 'preact/hooks';

/** A user's photo, or initials if there is none or it does not load. The name is shown beside it, so `alt` is empty. */
export function Portrait({ name, photo }: { name: string; photo: string | null }) {
  const [hasFailed, setFailed] = useState(false);
  return photo === null || hasFailed ? (
    <span class="portrait" data-tint={tintOf(name)} aria-hidden="true">
      {initialsOf(name)}
    </span>
  ) : (
    <img
      class="portrait"
      src={photo}
      alt=""
      loading="lazy"
      onError={() => {
        setFailed(true);
      }}
    />
  );
}

/** The first letters of the first and the last word, in any script. */
function initialsOf(name: string): string {
  const words = name.split(/[\s-]+/u).filter((word) => /^\p{L}/u.test(word));
  const letters = [words[0], words.length > 1 ? words.at(-1) : undefined].map(
    (word) => [...(word ?? '')][0] ?? '',
  );
  return letters.join('').toLocaleUpperCase();
}

/** The number of one of the six colors of the style sheet, always the same for a name. */
function tintOf(name: string): number {
  return [...name].reduce((sum, character) => sum + (character.codePointAt(0) ?? 0), 0) % 6;
}
